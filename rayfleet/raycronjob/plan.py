"""RayCronJob: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.excerpt import clip
from rayfleet.api.fault import Fault
from rayfleet.api.meta import RAYCRONJOBS, RAYJOBS
from rayfleet.api.names import cron_job_name
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob, RayJobSpec
from rayfleet.api.validation import validate_cron_job
from rayfleet.api.validation.ray_cron_job import FORBID, REPLACE
from rayfleet.planning.actions import Action, Create, Delete, Subject
from rayfleet.planning.clock import is_to_come, parse_rfc3339, rfc3339
from rayfleet.planning.newest import asked_first, newest
from rayfleet.planning.plan import Event, Plan, StatusWrite
from rayfleet.raycronjob import policy, schedule
from rayfleet.raycronjob.observed import Observed
from rayfleet.resources.cluster_document import cluster_document
from rayfleet.resources.ownership import owned_by

SCOPE, REMOVAL_SCOPE = "job", "removal"
JOB = Subject("RayJob", "RayJobs")


def plan(observed: Observed) -> Plan:
    """What to do next for one RayCronJob, and what to say of it."""
    cron = observed.cron
    if cron.metadata.deletion_timestamp:
        return Plan()
    found = decided(observed)
    if isinstance(cron, Undecodable) or found.actions or not is_news(observed, cron):
        return found
    seen = found.status or StatusWrite({}, cron.metadata.resource_version, False, f"generation {cron.metadata.generation} was seen")
    return replace(found, status=replace(seen, patch={**seen.patch, "observedGeneration": cron.metadata.generation}))


def is_news(observed: Observed, cron: RayCronJob) -> bool:
    """Does the status not say which spec was seen, where it can?"""
    return observed.config.has_cron_job_generation and cron.status.observed_generation != cron.metadata.generation


def decided(observed: Observed) -> Plan:
    cron = observed.cron
    faults = faults_of(observed)
    if faults or isinstance(cron, Undecodable):
        return Plan(events=(Event("Warning", "InvalidRayCronJobSpec", clip("; ".join(map(str, faults))), "Validate"),))
    jobs = tuple(job for job in observed.jobs if isinstance(job, RayJob))
    removals = [remove(job, "the history is longer than its limit") for job in policy.surplus(cron.metadata, jobs)]
    if cron.spec.suspend:
        return Plan(allowed(observed, removals))
    if dated_ahead(cron, jobs, observed.now):
        return Plan(allowed(observed, removals), StatusWrite(*counted_anew(cron, observed.now)), requeue_after=0.0)
    due = due_at(observed, cron)
    if due is not None and any(job.metadata.name == name_of(cron, due) for job in jobs):
        return Plan(allowed(observed, removals), StatusWrite(*written(cron, due)), requeue_after=0.0)
    begun = begin(observed, cron, jobs, due) if due is not None else []
    return Plan(allowed(observed, [*removals, *begun]), requeue_after=next_look(observed, cron))


def faults_of(observed: Observed) -> Sequence[Fault]:
    cron = observed.cron
    if isinstance(cron, Undecodable):
        return cron.faults
    spec = cron.spec
    found = (*validate_cron_job(cron, observed.config), *schedule.schedule_faults(spec), *policy.policy_faults(cron.metadata))
    template = [msgspec.structs.replace(fault, path=fault.path.replace("spec.", "spec.jobTemplate.", 1)) for fault in observed.env_faults]
    return (*found, *template)


def since(cron: RayCronJob, now: float) -> float:
    """From when on times are due: the last one that was dealt with, or the creation; now, when a clock that was wrong wrote it."""
    text = cron.status.last_schedule_time or cron.metadata.creation_timestamp or "1970-01-01T00:00:00Z"
    return now if is_to_come(text, now) else parse_rfc3339(text)


def dated_ahead(cron: RayCronJob, jobs: Sequence[RayJob], now: float) -> bool:
    """Was the clock wrong that wrote the last time, and not ours, as times of the API's own would tell? Until then nothing would be due."""
    made = [cron.metadata.creation_timestamp, *(job.metadata.creation_timestamp for job in jobs)]
    return is_to_come(cron.status.last_schedule_time, now) and not any(is_to_come(time, now) for time in made)


def due_at(observed: Observed, cron: RayCronJob) -> float | None:
    """The last time that is due and may still be begun. Earlier ones that were missed are not made up for."""
    due = schedule.latest(cron.spec, since(cron, observed.now), observed.now)
    limit = policy.starting_deadline(cron.metadata)
    return None if due is None or (limit is not None and observed.now > due + limit) else due


def name_of(cron: RayCronJob, due: float) -> str:
    return cron_job_name(cron.metadata.name, due)


def begin(observed: Observed, cron: RayCronJob, jobs: tuple[RayJob, ...], due: float) -> list[Action]:
    """The job that is due, unless one that runs is in its way.

    From an old copy a time that was dealt with, and whose job is gone again, would look due.
    """
    running = [job for job in jobs if policy.active(job)]
    how = policy.concurrency(cron.metadata)
    if running and how == FORBID:
        return []
    if running and how == REPLACE:
        return [remove(job, "the next job is due") for job in running if not job.metadata.deletion_timestamp]
    return [newest(RAYCRONJOBS, cron.metadata, SCOPE, "a job is made by the newest copy only"), create(cron, due)]


def create(cron: RayCronJob, due: float) -> Create:
    meta = cron.metadata
    chosen = meta.annotation(labels.AUTOSCALING)
    manifest: dict[str, Any] = {
        "apiVersion": RAYJOBS.api_version,
        "kind": RAYJOBS.kind,
        "metadata": {
            "name": name_of(cron, due),
            "namespace": meta.namespace,
            "labels": {labels.CRON_JOB: meta.name},
            "annotations": {labels.SCHEDULED_AT: rfc3339(due), **({labels.AUTOSCALING: chosen} if chosen else {})},
            "ownerReferences": [owned_by(RAYCRONJOBS, meta)],
        },
        "spec": template_document(cron.spec.job_template),
    }
    return Create(
        resource=RAYJOBS,
        namespace=meta.namespace,
        name=name_of(cron, due),
        manifest=manifest,
        scope=SCOPE,
        reason=f"it was due at {rfc3339(due)}",
        subject=JOB,
        event="CreatedRayJob",
        failed_event="FailedToCreateRayJob",
    )


def template_document(spec: RayJobSpec) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    return document | ({"rayClusterSpec": cluster_document(spec.ray_cluster_spec)} if spec.ray_cluster_spec is not None else {})


def remove(job: RayJob, reason: str) -> Delete:
    return Delete(
        resource=RAYJOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        scope=REMOVAL_SCOPE,
        reason=reason,
        subject=JOB,
        event="DeletedRayJob",
        failed_event="FailedToDeleteRayJob",
    )


def allowed(observed: Observed, actions: Sequence[Action]) -> tuple[Action, ...]:
    left = [action for action in actions if not observed.held_back(action.scope)]
    return tuple(asked_first(RAYCRONJOBS, observed.cron.metadata, left, observed.held_back))


def written(cron: RayCronJob, due: float) -> tuple[dict[str, Any], str, bool, str]:
    return {"lastScheduleTime": rfc3339(due)}, cron.metadata.resource_version, True, f"the job of {rfc3339(due)} is there"


def counted_anew(cron: RayCronJob, now: float) -> tuple[dict[str, Any], str, bool, str]:
    return {"lastScheduleTime": rfc3339(now)}, cron.metadata.resource_version, True, "a clock that was wrong dated the last time ahead"


def next_look(observed: Observed, cron: RayCronJob) -> float | None:
    return min(waits(observed, cron), default=None)


def waits(observed: Observed, cron: RayCronJob) -> Iterator[float]:
    following = schedule.following(cron.spec, since(cron, observed.now), observed.now)
    if following is not None:
        yield max(following - observed.now, 0.0)
    yield from (wait for scope in observed.backoffs if (wait := observed.held_back(scope)) > 0)
