"""Why a RayCronJob makes no job, and how its last one ended."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.diagnosis.diagnose import IS_IT_RUNNING
from rayfleet.diagnosis.finding import Diagnosis, Finding, Step, clipped, merged
from rayfleet.diagnosis.maker import Maker, invalid, last_line, refused

GATE = "does the operator look after RayCronJobs? it must be started with --feature-gates RayCronJob=true"


def diagnose_cron_job(maker: Maker) -> Diagnosis:
    meta = maker.metadata
    findings = merged(wrong(maker))
    return Diagnosis(meta.namespace, meta.name, state_of(maker, findings), summary(maker), findings, tuple(notes(maker)), maker.kind)


def wrong(maker: Maker) -> Iterator[Finding]:
    if maker.metadata.deletion_timestamp:
        return
    if maker.faults:
        yield invalid(maker, "; ".join(map(str, maker.faults)))
        return
    yield from refused(maker)
    if maker.due:
        why = (Step("object", f"a job was due at {maker.due}, and there is none of that time"),)
        yield Finding("NoOperator", "No operator makes the job that is due.", maker.place, why, (GATE, *IS_IT_RUNNING))
    last = newest(maker)
    if last is not None and last.status.job_deployment_status == "Failed":
        why = (Step("status", f"{last.status.reason}: {last_line(last.status.message)}".rstrip(": ")),)
        advice = (f"rayfleet explain rayjob/{last.metadata.name}",)
        yield Finding("LastJobFailed", "Its last job has failed.", (f"rayjob/{last.metadata.name}",), why, advice)


def newest(maker: Maker) -> RayJob | None:
    jobs = sorted((each for each in maker.jobs if isinstance(each, RayJob)), key=lambda each: each.metadata.creation_timestamp or "")
    return jobs[-1] if jobs else None


def state_of(maker: Maker, findings: tuple[Finding, ...]) -> str:
    cron = maker.object
    if maker.metadata.deletion_timestamp:
        return "deleting"
    if maker.faults:
        return "refused"
    if isinstance(cron, RayCronJob) and cron.spec.suspend:
        return "suspended"
    return "broken" if findings else "ready"


def summary(maker: Maker) -> str:
    last = newest(maker)
    if last is None:
        return "it has no job yet"
    return f"{len(maker.jobs)} jobs, the last is rayjob/{last.metadata.name}: {last.status.job_deployment_status or 'not begun'}"


def notes(maker: Maker) -> Iterator[str]:
    cron = maker.object
    if isinstance(cron, RayCronJob) and cron.spec.suspend:
        yield "it is suspended; spec.suspend: false makes the next job at its time"
    elif maker.following:
        yield f"the next job is due at {maker.following}"
    yield from (f"not seen: {clipped(text)}" for text in maker.unread)
