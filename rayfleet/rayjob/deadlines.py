"""When something is due. All times are in seconds since 1970, read from the object or from what was observed: a restart moves none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.api.decode import Undecodable
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import INTERACTIVE
from rayfleet.planning.backoff import retry_delay
from rayfleet.planning.clock import is_to_come, parse_rfc3339
from rayfleet.planning.conditions import find
from rayfleet.ray.answer import NotFound, Refused
from rayfleet.ray.jobs import Version
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import ENDED, POLLED, State
from rayfleet.resources.submitter import CONTAINER, RESTART_GATE, RESTARTS

STOP_GRACE = 30.0  # from a deadline, for Ray to say that the job has stopped
LOST_AFTER = 30.0  # of Ray saying that it knows of no such job, which it said otherwise before
TELL_SILENCE_AFTER = 30.0  # before the status says since when Ray has not answered
HEARD_AFTER = 2.0  # from the end of a submitter: what Ray says then is of a time when it was over, also where clocks differ a little
RESTARTED_WITHIN = 15.0  # from the end of a submitter that the kubelet starts again
ASKED_AGAIN_WITHIN = 14.0  # from the end of a submitter, in which Ray is asked in any case
POD_WITHIN = 5.0  # from the creation of a submitter's Job, for its Pod to be there
LOOK_AGAIN, LOOK_AGAIN_IDLE = 3.0, 30.0  # for a cluster that is selected: what is not ours calls nobody
DELETION_GRACE = 15.0  # from the deletion, for a best-effort stop


def time_of(text: str | None) -> float:
    """Seconds since 1970; 0 for no time, and for a text that is none."""
    try:
        return parse_rfc3339(text) if text else 0.0
    except ValueError:
        return 0.0


def active_deadline(job: RayJob) -> float | None:
    seconds, started = job.spec.active_deadline_seconds, time_of(job.status.start_time)
    return started + seconds if seconds is not None and started else None


def pre_running_deadline(observed: Observed, job: RayJob) -> float | None:
    """Of a user who is to submit the time runs from when there is something to submit to (KubeRay's counts the start-up in)."""
    seconds = job.spec.pre_running_deadline_seconds
    if seconds is None or not job.status.start_time:
        return None
    begun = time_of(job.status.start_time)
    if job.status.job_deployment_status == State.WAITING:
        begun = max(begun, ready_since(observed))
    return begun + seconds


def ready_since(observed: Observed) -> float:
    cluster = observed.cluster
    if cluster is None or isinstance(cluster, Undecodable):
        return 0.0
    found = find(cluster.status.conditions, "RayClusterProvisioned")
    return time_of(found.last_transition_time) if found and found.status == "True" else 0.0


def lost_at(observed: Observed, job: RayJob) -> float | None:
    """When a job of which Ray knows nothing counts as lost; None while Ray says something else. A user who has named a job that Ray never
    had may still submit it."""
    heard = observed.word
    if heard is None or not isinstance(heard.answer, NotFound):
        return None
    named = job.spec.submission_mode == INTERACTIVE and not job.status.job_status
    return heard.since + (observed.config.ray_job_status_check_timeout_seconds if named else LOST_AFTER)


def silent_since(observed: Observed, job: RayJob) -> float | None:
    """Since when nothing was heard that says how the job is; None while there is something. A job that runs and has no head to be asked for
    it is silent, too."""
    heard = observed.word or observed.version
    if observed.target is None and observed.cluster is not None and job.status.job_deployment_status == State.RUNNING:
        return time_of(job.status.job_status_check_failure_start_time) or head_lost_since(observed)
    if heard is None or observed.info is not None or isinstance(heard.answer, NotFound | Version):
        nobody = observed.version is not None and isinstance(observed.version.answer, NotFound) and observed.info is None
        return observed.version.since if nobody and observed.version else None
    told = time_of(job.status.job_status_check_failure_start_time)
    return min(told or heard.since, heard.since)


def refused_since(observed: Observed, job: RayJob) -> float | None:
    """Since when Ray answers to the submission with an error; None while it does not."""
    before = observed.submitted
    if before is None or not isinstance(before.answer, Refused):
        return None
    return time_of(job.status.job_status_check_failure_start_time) or before.at


def head_lost_since(observed: Observed) -> float:
    """By the cluster's condition; now, where it does not say."""
    cluster = observed.cluster
    found = find(cluster.status.conditions, "HeadPodReady") if isinstance(cluster, RayCluster) else None
    return time_of(found.last_transition_time) if found and found.status != "True" else observed.now


def ended_since(observed: Observed, job: RayJob) -> float:
    """When Ray's job ended: by Ray's clock, as it says or said, unless that is ahead of ours."""
    info, latest = observed.info, observed.word.since if observed.word else observed.now
    by_ray = (info.end_time or 0) / 1000 if info else time_of(job.status.ray_job_info.end_time)
    return min(by_ray, latest) if by_ray > 0 else latest


def submitter_end(observed: Observed) -> float | None:
    """When the submitter ended, 0 if nobody says when; None while it has not."""
    found = observed.submitter
    if found is not None and (condition := found.true_condition("Complete", "Failed", "FailureTarget")):
        return time_of(condition.last_transition_time)
    ended = sidecar_end(observed)
    return None if ended is None or observed.now < begins_again_by(observed, ended) else time_of(ended.state.terminated.finished_at)


def pod_due(observed: Observed) -> float | None:
    """By when the submitter's Job is to have made a Pod; None when it has, or makes none any more."""
    found = observed.submitter
    if found is None or observed.submitting or submitter_end(observed) is not None:
        return None
    return time_of(found.metadata.creation_timestamp) + POD_WITHIN


def sidecar_end(observed: Observed) -> Any:
    """The status of the container beside the head that submits, once that has ended."""
    statuses = (status for head in observed.heads for status in head.status.container_statuses or ())
    return next((status for status in statuses if status.name == CONTAINER and status.state.terminated), None)


def begins_again_by(observed: Observed, ended: Any) -> float:
    """When a container that failed is to be under way again, or in its back-off, at the latest; 0 for one that is not started again."""
    over = ended.state.terminated
    again = observed.config.gate(RESTART_GATE) and over.exit_code and ended.restart_count < RESTARTS
    return time_of(over.finished_at) + RESTARTED_WITHIN if again else 0.0


def retry_at(job: RayJob) -> float:
    return time_of(job.status.end_time) + retry_delay(job.status.failed)


def moments(observed: Observed, job: RayJob) -> Iterator[float]:
    """When the same observations could mean something else."""
    state = job.status.job_deployment_status
    if is_to_come(job.status.start_time, observed.now) or is_to_come(job.status.end_time, observed.now):
        yield observed.now + LOOK_AGAIN
    if state in (State.INITIALIZING, State.WAITING, State.RUNNING):
        if (deadline := active_deadline(job)) is not None:
            yield deadline
            yield deadline + STOP_GRACE
        if state == State.INITIALIZING and (due := pod_due(observed)) is not None:
            yield due
        if state != State.RUNNING and (deadline := pre_running_deadline(observed, job)) is not None:
            yield deadline
        if (lost := lost_at(observed, job)) is not None:
            yield lost
        if (refused := refused_since(observed, job)) is not None:
            yield refused + observed.config.ray_job_status_check_timeout_seconds
        if (silent := silent_since(observed, job)) is not None:
            yield silent + TELL_SILENCE_AFTER
            yield max(silent, ready_since(observed)) + observed.config.ray_job_status_check_timeout_seconds
        if (sidecar := sidecar_end(observed)) is not None:
            yield begins_again_by(observed, sidecar)
        if (ended := submitter_end(observed)) is not None:
            yield ended + ASKED_AGAIN_WITHIN
        if job.status.job_status in ENDED or (observed.info is not None and observed.info.terminal):
            yield ended_since(observed, job) + observed.config.ray_job_transition_grace_seconds
    if state in POLLED and job.spec.cluster_selector and observed.info is None:
        yield observed.now + LOOK_AGAIN
    if job.spec.cluster_selector and state == State.WAITING:
        yield observed.now + LOOK_AGAIN_IDLE
    if state == State.RETRYING:
        yield retry_at(job)
