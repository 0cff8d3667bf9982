"""What the status of a RayJob says after a step, and a write only when its meaning changed (KubeRay, 1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rayfleet.api.excerpt import clip, tail
from rayfleet.api.fault import Fault
from rayfleet.api.labels import CLUSTER
from rayfleet.api.names import job_cluster_name, submission_id
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import INTERACTIVE
from rayfleet.planning.clock import is_to_come, rfc3339
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.plan import StatusWrite
from rayfleet.ray.answer import NotFound, Refused, Unreachable, complaint
from rayfleet.rayjob import deadlines
from rayfleet.rayjob.findings import terminal_word
from rayfleet.rayjob.hindrance import alike, hindrance, of_pods
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import RETRIED, TERMINAL, State, Step
from rayfleet.rayjob.tries import goes_on, named_id, next_number, parse_tries
from rayfleet.resources.env import head_host
from rayfleet.resources.pod_template import head_service_of
from rayfleet.resources.services import dashboard_port

QUIET = frozenset({"message", "rayClusterStatus", "dashboardURL", "observedGeneration"})
"""What is brought up to date when something else changes; alone it is no news."""
COUNTED_FROM = ("startTime", "endTime", "jobStatusCheckFailureStartTime")


def status_write(observed: Observed, job: RayJob, step: Step, faults: Sequence[Fault]) -> StatusWrite | None:
    """The change that the step makes; None when the status says all this already."""
    before: dict[str, Any] = msgspec.to_builtins(job.status)
    after = AFTER[step.state](observed, job, step) if step.state in AFTER else dict(before)
    if step.state is State.INVALID:
        after = {**before, "reason": step.reason, "message": clip("; ".join(map(str, faults)))}
    after |= {"jobDeploymentStatus": str(step.state), "observedGeneration": job.metadata.generation} | put_right(observed, after)
    return written(job, before, {name: value for name, value in after.items() if value not in ("", 0, {}, None)})


def put_right(observed: Observed, after: Mapping[str, Any]) -> dict[str, Any]:
    """Times that are yet to come were written by a clock that was wrong: what is counted from them begins now, and not in a year."""
    return {name: rfc3339(observed.now) for name in COUNTED_FROM if is_to_come(after.get(name), observed.now)}


def written(job: RayJob, before: Mapping[str, Any], after: Mapping[str, Any]) -> StatusWrite | None:
    patch = merge_patch(before, after)
    news = patch.keys() - QUIET
    asked = "observedGeneration" in patch and bool(before.get("jobDeploymentStatus"))
    if not news and not asked and not is_trouble(before, patch):
        return None
    if not before:  # fields that KubeRay's clients expect to be there
        patch = {"succeeded": 0, "failed": 0, **patch}
    said = "; ".join(f"{name} is {patch[name]}" for name in ("jobDeploymentStatus", "jobStatus", "reason") if patch.get(name))
    urgent = "jobDeploymentStatus" in patch
    return StatusWrite(patch, job.metadata.resource_version, urgent, said or patch.get("message") or "what is told of the job changes")


def is_trouble(before: Mapping[str, Any], patch: Mapping[str, Any]) -> bool:
    """Before the job runs, the message says what hinders it: that is news, but not the kubelet's next word on the same. What Ray says of a
    job that runs is none."""
    state = before.get("jobDeploymentStatus")
    if "message" not in patch or state not in (State.INITIALIZING, State.INVALID):
        return False
    return state == State.INVALID or not alike(before.get("message") or "", patch["message"] or "")


def initializing(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    if job.status.job_deployment_status == State.INITIALIZING:
        kept = as_it_is(job)
        return kept | {"message": clip(hindrance(observed, job))} | cluster_fields(observed, job) | not_taken(observed, job)
    return begun(observed, job)


def begun(observed: Observed, job: RayJob) -> dict[str, Any]:
    """A new try: its names are written before anything of it is made. Names that are there already, of a job that could not go on or that
    another operator has begun, stay."""
    meta, tries = job.metadata, parse_tries(job.metadata)
    number = next_number(tries)
    status = job.status
    same = status.ray_cluster_name and status.job_deployment_status in (State.INVALID, State.RUNNING)
    stays = same or goes_on(observed, job)
    name = job.spec.cluster_selector.get(CLUSTER) or job_cluster_name(meta.name, meta.uid, number)
    given = named_id(job) or ("" if job.spec.submission_mode == INTERACTIVE else submission_id(meta.name, meta.uid, number))
    start = max(observed.now, deadlines.time_of(tries[-1].start_time) + 1) if tries else observed.now
    return {
        "jobId": status.job_id if same else given,
        "rayClusterName": status.ray_cluster_name if stays else name,
        "startTime": status.start_time if same else rfc3339(start),
        "succeeded": status.succeeded,
        "failed": status.failed,
        "message": clip(hindrance(observed, job)) if job.spec.cluster_selector else "",
    }


def waiting(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    kept = as_it_is(job)
    return kept | {"message": ""} | cluster_fields(observed, job)


def running(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    kept = as_it_is(job)
    after = kept | word_fields(observed, job) | cluster_fields(observed, job) | silence(observed, job)
    if job.spec.submission_mode == INTERACTIVE and not job.status.job_status and named_id(job):
        after["jobId"] = named_id(job)  # of a job that Ray does not know the user may say that it is another one
    if job.status.job_deployment_status != State.RUNNING and not observed.info:
        after["message"] = ""
    return after


def not_taken(observed: Observed, job: RayJob) -> dict[str, Any]:
    """Since when Ray does not take the job, as `silence`; forgotten only with a head that is not ready."""
    cluster = observed.cluster
    if not isinstance(cluster, RayCluster) or cluster.status.state != "ready":
        return {"jobStatusCheckFailureStartTime": None}
    refused = deadlines.refused_since(observed, job)
    if refused is not None:
        return {"jobStatusCheckFailureStartTime": rfc3339(refused)}
    return silence(observed, job) if deadlines.silent_since(observed, job) is not None else {}


def silence(observed: Observed, job: RayJob) -> dict[str, Any]:
    """Since when Ray has not answered: on the object, so that a restart of the operator does not begin to count anew."""
    since = deadlines.silent_since(observed, job)
    told = job.status.job_status_check_failure_start_time
    if since is None:
        return {} if observed.word is None else {"jobStatusCheckFailureStartTime": None}
    if told or (observed.target is not None and observed.now < since + deadlines.TELL_SILENCE_AFTER):
        return {}
    return {"jobStatusCheckFailureStartTime": rfc3339(since)}


def word_fields(observed: Observed, job: RayJob) -> dict[str, Any]:
    """What Ray says. A last word is not taken back, and a job that ran does not become one that is to run."""
    info = observed.info
    if info is None:
        return {}
    word = terminal_word(observed, job) or info.status
    if word == "PENDING" and job.status.job_status == "RUNNING":
        word = "RUNNING"
    times = {"startTime": time_of(info.start_time), "endTime": time_of(info.end_time)}
    said = {"jobStatus": word, "rayJobInfo": {name: value for name, value in times.items() if value}}
    return said | {"message": tail(info.message or "")} if word == info.status else said


def time_of(milliseconds: int | None) -> str:
    """RFC 3339; "" for no time, and for what is none."""
    try:
        return rfc3339(milliseconds / 1000) if milliseconds and milliseconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def complete(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    if job.status.job_deployment_status == State.COMPLETE:
        return as_it_is(job)
    after = ended(observed, job) | {"reason": step.reason}
    if after.get("jobStatus") == "SUCCEEDED":
        after["succeeded"] = job.status.succeeded + 1
    return after


def failed(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    if job.status.job_deployment_status == State.FAILED:
        return as_it_is(job)
    return ended(observed, job) | failure(observed, job, step)


def retrying(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    if job.status.job_deployment_status == State.RETRYING:
        return as_it_is(job)
    return ended(observed, job) | failure(observed, job, step)


def failure(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    word = terminal_word(observed, job) or ("FAILED" if job.status.job_status or observed.info else "")
    said = {"jobStatus": word, "failed": job.status.failed + 1, "reason": step.reason}
    if step.reason == "JobStatusCheckTimeoutExceeded":
        said["jobStatusCheckFailureStartTime"] = rfc3339(deadlines.silent_since(observed, job) or observed.now)
    return said if step.reason == "AppFailed" else said | {"message": clip(story(observed, job, step.reason))}


def ended(observed: Observed, job: RayJob) -> dict[str, Any]:
    kept = as_it_is(job)
    fields = word_fields(observed, job) | cluster_fields(observed, job)
    return kept | fields | {"endTime": rfc3339(observed.now), "jobStatusCheckFailureStartTime": None}


def suspended(observed: Observed, job: RayJob, step: Step) -> dict[str, Any]:
    status = job.status
    return {"startTime": status.start_time, "succeeded": status.succeeded, "failed": status.failed}


def as_it_is(job: RayJob) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(job.status)
    return found


AFTER = {
    State.INITIALIZING: initializing,
    State.WAITING: waiting,
    State.RUNNING: running,
    State.COMPLETE: complete,
    State.FAILED: failed,
    State.RETRYING: retrying,
    State.SUSPENDED: suspended,
}


def after_failure(job: RayJob, step: Step) -> Step:
    """The step, or a retry in its place where the failure is one that is tried again."""
    enters = step.state is State.FAILED and State(job.status.job_deployment_status) not in TERMINAL
    nowhere = step.reason == "ClusterLost" and bool(job.spec.cluster_selector)
    if enters and RETRIED[step.reason] and not nowhere and job.status.failed < job.spec.backoff_limit:
        return Step(State.RETRYING, reason=step.reason)
    return step


def cluster_fields(observed: Observed, job: RayJob) -> dict[str, Any]:
    cluster = observed.cluster
    if not isinstance(cluster, RayCluster):
        return {}
    fields: dict[str, Any] = {"rayClusterStatus": msgspec.to_builtins(cluster.status)}
    if cluster.status.state == "ready":
        fields["dashboardURL"] = f"{head_host(cluster, observed.config, head_service_of(cluster))}:{dashboard_port(cluster)}"
    return fields


def story(observed: Observed, job: RayJob, reason: str) -> str:
    """What happened, as a sentence, for failures of which Ray says nothing."""
    spec, name = job.spec, job.status.ray_cluster_name
    why = of_pods(observed)
    also = f" ({why})" if why else ""
    heard = observed.word or observed.version
    answer = heard.answer if heard else None
    silent = answer.text if isinstance(answer, Unreachable | Refused) else "it said what cannot be understood"
    silent = silent if observed.target is not None else "its cluster has no head"
    stories = {
        "DeadlineExceeded": f"activeDeadlineSeconds, {spec.active_deadline_seconds}, have passed since {job.status.start_time}{also}",
        "PreRunningDeadlineExceeded": f"the job did not run within preRunningDeadlineSeconds, {spec.pre_running_deadline_seconds}{also}",
        "ClusterLost": f"RayCluster {name} was lost while the job may have run{also}",
        "JobRecordLost": f"Ray knows job {job.status.job_id} no longer: its head was lost or began anew",
        "JobStatusCheckTimeoutExceeded": f"Ray has not answered for {observed.config.ray_job_status_check_timeout_seconds} s: {silent}",
        "SubmissionFailed": f"job {job.status.job_id} could not be submitted: {refusal(observed)}{also}",
    }
    return stories[reason]


def refusal(observed: Observed) -> str:
    if observed.submitted is not None and (said := complaint(observed.submitted.answer)):
        return said
    failed = observed.submitter.failure if observed.submitter else None
    known = "Ray knows of no such job" if observed.word and isinstance(observed.word.answer, NotFound) else "Ray does not say why"
    return f"its submitter has ended ({failed}), and {known}" if failed else f"its submitter has ended, and {known}"
