"""Why a RayJob is in the state it is in: its spec, its cluster, its submission, and what Ray said of it."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.decode import Undecodable
from rayfleet.api.labels import CLUSTER
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.rayjob import RayJob
from rayfleet.diagnosis.finding import Diagnosis, Finding, Step, clipped, merged
from rayfleet.diagnosis.maker import Maker, held_back, invalid, last_line, of_clusters, refused, undecodable, unseen

ENDED = ("Complete", "Failed")
BEFORE = ("", "Initializing", "Waiting")
STATES = {"": "starting", "Initializing": "starting", "ValidationFailed": "refused", "Complete": "succeeded"}
AGAIN = "backoffLimit lets it be tried again on a fresh cluster"
REASONS: dict[str, tuple[str, str]] = {
    "AppFailed": ("The job's own program failed.", "mend the program: its last words are above, the whole log is in Ray's dashboard"),
    "DeadlineExceeded": ("The job took longer than activeDeadlineSeconds, and was stopped.", "raise spec.activeDeadlineSeconds"),
    "PreRunningDeadlineExceeded": (
        "The job did not run within preRunningDeadlineSeconds.",
        "see why its cluster took so long, or raise spec.preRunningDeadlineSeconds",
    ),
    "ClusterLost": ("The job's cluster, or its head, was lost while the job may have run.", AGAIN),
    "JobRecordLost": ("Ray lost its record of the job: the head began anew.", f"use GCS fault tolerance; {AGAIN}"),
    "SubmissionFailed": ("The job could not be submitted.", "see what Ray or the submitter said above"),
    "JobStatusCheckTimeoutExceeded": ("Ray did not answer for too long.", "look at the head: rayfleet explain raycluster/CLUSTER"),
}


def diagnose_job(maker: Maker) -> Diagnosis:
    meta, job = maker.metadata, maker.object
    if isinstance(job, Undecodable):
        return Diagnosis(meta.namespace, meta.name, "refused", "it cannot be read", tuple(undecodable(maker)), maker.unread, maker.kind)
    findings = merged(wrong(maker, job))
    state = state_of(maker, job, findings)
    return Diagnosis(meta.namespace, meta.name, state, summary(job), findings, tuple(notes(maker, job)), maker.kind)


def wrong(maker: Maker, job: RayJob) -> Iterator[Finding]:
    status = job.status
    state = status.job_deployment_status
    if maker.metadata.deletion_timestamp:
        yield from held_back(maker)
        return
    if job.spec.managed_by == OTHER_MANAGER:
        return
    yield from unseen(maker, status.observed_generation, not state)
    if state == "ValidationFailed":
        yield invalid(maker, status.message, Step("status", "jobDeploymentStatus is ValidationFailed"))
    elif state == "Failed":
        yield failure(maker, job)
    elif state not in ENDED:
        yield from under_way(maker, job)


def failure(maker: Maker, job: RayJob) -> Finding:
    status = job.status
    seen, advice = REASONS.get(status.reason, ("The job has failed.", "see what is said above"))
    why = [Step("status", f"jobDeploymentStatus is Failed: {status.reason}; jobStatus is {status.job_status or 'unknown'}")]
    if status.message:
        why.append(Step("ray" if status.reason == "AppFailed" else "status", last_line(status.message)))
    return Finding(status.reason or "Failed", seen, maker.place, tuple(why), (advice.replace("CLUSTER", status.ray_cluster_name),))


def under_way(maker: Maker, job: RayJob) -> Iterator[Finding]:
    status = job.status
    found = [*refused(maker), *of_clusters(maker, status.ray_cluster_name), *maker.submitter]
    yield from found
    if status.job_status_check_failure_start_time:
        why = (Step("status", f"jobStatusCheckFailureStartTime is {status.job_status_check_failure_start_time}"),)
        advice = (f"look at the head: rayfleet explain raycluster/{status.ray_cluster_name}",)
        yield Finding("DashboardUnreachable", "Ray does not answer the operator.", maker.place, why, advice)
    selected = job.spec.cluster_selector.get(CLUSTER)
    if selected and status.job_deployment_status in BEFORE and maker.cluster(selected) is None:
        why = (Step("spec", f"clusterSelector: {CLUSTER}: {selected}"),)
        advice = ("make that cluster, or correct spec.clusterSelector",)
        yield Finding("ClusterMissing", f"There is no RayCluster {selected} to run on.", maker.place, why, advice)
    elif status.message and status.job_deployment_status == "Initializing" and not found:
        advice = ("it is tried again by itself; mend what is named above",)
        yield Finding(
            "NotStarting", "Something keeps the job from starting.", maker.place, (Step("status", clipped(status.message)),), advice
        )


def state_of(maker: Maker, job: RayJob, findings: tuple[Finding, ...]) -> str:
    """One of ready's like: starting, waiting, running, retrying, succeeded, stopped, failed, suspended, refused, deleting, broken."""
    status = job.status
    if maker.metadata.deletion_timestamp:
        return "deleting"
    if status.job_status == "STOPPED" and status.job_deployment_status == "Complete":
        return "stopped"
    state = STATES.get(status.job_deployment_status, status.job_deployment_status.lower())
    return "broken" if findings and state in ("starting", "waiting", "running") else state


def summary(job: RayJob) -> str:
    status = job.status
    if not status.ray_cluster_name:
        return "not begun"
    word = f"job {status.job_id} is {status.job_status}" if status.job_status else "Ray has no job of it yet"
    return f"{word} on raycluster/{status.ray_cluster_name}"


def notes(maker: Maker, job: RayJob) -> Iterator[str]:
    status = job.status
    if job.spec.managed_by == OTHER_MANAGER:
        yield f"spec.managedBy is {job.spec.managed_by}: this operator leaves the job to another one"
    if status.job_deployment_status == "Suspended":
        yield "it is suspended, so it has no cluster; spec.suspend: false begins it"
    if status.job_deployment_status == "Waiting":
        yield "its user is to submit: ray job submit, and then the submission id into spec.jobId"
    if status.failed and job.spec.backoff_limit:
        yield f"{status.failed} of {job.spec.backoff_limit + 1} tries have failed"
    if status.job_deployment_status in BEFORE:
        for cluster in maker.clusters:
            yield from (f"raycluster/{cluster.name}: {note}" for note in cluster.notes if not cluster.findings)
    yield from (f"not seen: {clipped(text)}" for text in maker.unread)
