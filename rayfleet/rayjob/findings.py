"""Which of a state's rows holds: each finding is a question to what was observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import HTTP, INTERACTIVE, K8S_JOB, SIDECAR
from rayfleet.ray.answer import Accepted, NotFound, Refused
from rayfleet.ray.jobs import Version
from rayfleet.rayjob import deadlines
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import TABLE, Finding, State, Step
from rayfleet.rayjob.tries import left_over, named_id

PASSING = frozenset({401, 403, 404, 408, 425, 429})
"""Refusals below 500 that say nothing against the job: who asks may be let in a moment later, with another token or at another pace."""
Question = Callable[[Observed, RayJob], bool]


def state_of(job: RayJob) -> State | None:
    """None for a word that nobody wrote who follows this table."""
    try:
        return State(job.status.job_deployment_status)
    except ValueError:
        return None


def find(observed: Observed, job: RayJob, state: State, faults: Sequence[Fault]) -> tuple[Finding, Step]:
    """The first row of the state that holds. Of a try that `begins` the faults are looked for, of another one there are none."""
    for finding, step in TABLE[state].items():
        invalid = finding is Finding.INVALID and bool(faults)
        if invalid or finding is Finding.ALWAYS or (finding in HOLDS and HOLDS[finding](observed, job)):
            return finding, step
    raise AssertionError(f"the table has no end for {state}")


def begins(observed: Observed, job: RayJob) -> bool:
    """Is nothing made yet for the present try? A spec that is spoilt later spoils nothing that runs."""
    return not observed.owned and observed.submitter is None and not (job.spec.cluster_selector and observed.info)


def suspension(observed: Observed, job: RayJob) -> bool:
    return job.spec.suspend


def says(word: str) -> Question:
    return lambda observed, job: terminal_word(observed, job) == word and submitter_over(observed, job)


def terminal_word(observed: Observed, job: RayJob) -> str:
    """Ray's last word on the job; once it is on the object nothing that Ray says later changes it."""
    if job.status.job_status in ("SUCCEEDED", "FAILED", "STOPPED"):
        return job.status.job_status
    return observed.info.status if observed.info is not None and observed.info.terminal else ""


def submitter_over(observed: Observed, job: RayJob) -> bool:
    """Has it shown all logs? One that does not end is not waited for beyond its grace, and none when there is nobody to show them."""
    if observed.cluster is None or observed.now >= deadlines.ended_since(observed, job) + observed.config.ray_job_transition_grace_seconds:
        return True
    if job.spec.submission_mode == K8S_JOB:
        return observed.submitter is None or deadlines.submitter_end(observed) is not None
    return job.spec.submission_mode != SIDECAR or not observed.heads or deadlines.submitter_end(observed) is not None


def stopped_at_deadline(observed: Observed, job: RayJob) -> bool:
    return terminal_word(observed, job) == "STOPPED" and deadline(observed, job)


def lingering(observed: Observed, job: RayJob) -> bool:
    return bool(terminal_word(observed, job))


def deadline(observed: Observed, job: RayJob) -> bool:
    due = deadlines.active_deadline(job)
    return due is not None and observed.now >= due


def deadline_and_grace(observed: Observed, job: RayJob) -> bool:
    """Nothing is left to wait for: Ray never had the job, does not answer, or has had its time."""
    due = deadlines.active_deadline(job)
    if due is None or observed.now < due:
        return False
    if observed.now >= due + deadlines.STOP_GRACE or observed.target is None or not may_be_known(observed, job):
        return True
    return observed.word is not None and observed.info is None


def may_be_known(observed: Observed, job: RayJob) -> bool:
    """May Ray have the job by now?"""
    running = job.status.job_deployment_status == State.RUNNING
    return running or may_be_submitted(observed, job) or job.spec.submission_mode == SIDECAR


def pre_running_deadline(observed: Observed, job: RayJob) -> bool:
    due = deadlines.pre_running_deadline(observed, job)
    return due is not None and observed.now >= due


def cluster_lost(observed: Observed, job: RayJob) -> bool:
    """Is a cluster gone, or going, that the job may have been submitted to?"""
    if observed.cluster is not None and not observed.cluster.metadata.deletion_timestamp:
        return head_lost(observed, job) or made_again(observed, job)
    return job.status.job_deployment_status != State.INITIALIZING or may_be_submitted(observed, job)


def made_again(observed: Observed, job: RayJob) -> bool:
    """Is this another cluster than that which may submit the job by itself?"""
    known, cluster = observed.submitted_to, observed.cluster
    if job.spec.submission_mode != SIDECAR or known is None or cluster is None:
        return False
    return known[0] == job.status.job_id and known[1].partition("/")[0] != cluster.metadata.uid


def head_lost(observed: Observed, job: RayJob) -> bool:
    """In SidecarMode the head comes but once: of one that is not there, and was, the marks are left."""
    if job.spec.submission_mode != SIDECAR or isinstance(observed.cluster, Undecodable) or observed.cluster is None:
        return False
    if any(head.status.phase in ("Failed", "Succeeded") for head in observed.heads):
        return True
    known = observed.submitted_to
    was_seen = known is not None and known[0] == job.status.job_id and "/" in known[1]
    was_there = was_seen or deadlines.ready_since(observed) > 0 or labels.HEAD_GROUP in lives_of(observed.cluster)
    return not observed.heads and was_there


def lives_of(cluster: RayCluster) -> str:
    """Names the head's group when a head of the cluster was to be replaced."""
    return cluster.metadata.annotation(labels.LIVES)


def may_be_submitted(observed: Observed, job: RayJob) -> bool:
    known = observed.submitted_to
    return known is not None and known[0] == job.status.job_id


def unknown_yet(observed: Observed, job: RayJob) -> bool:
    """KubeRay calls a job running as soon as its cluster is ready: taken over from it, it may be still to be submitted."""
    if job.status.job_status or job.spec.submission_mode == INTERACTIVE or may_be_submitted(observed, job):
        return False
    return observed.word is not None and isinstance(observed.word.answer, NotFound)


def record_lost(observed: Observed, job: RayJob) -> bool:
    """Ray knows the job no longer, or lives another life than that in which the job may have been submitted."""
    due = deadlines.lost_at(observed, job)
    lost = due is not None and observed.now >= due
    if job.status.job_deployment_status == State.INITIALIZING:
        return other_life(observed, job) or (lost and was_accepted(observed))
    return lost


def other_life(observed: Observed, job: RayJob) -> bool:
    known, heard, word = observed.submitted_to, observed.version, observed.word
    if job.spec.submission_mode == SIDECAR:
        return False
    if known is None or known[0] != job.status.job_id or heard is None or word is None or not isinstance(heard.answer, Version):
        return False
    return isinstance(word.answer, NotFound) and word.at >= heard.since and heard.answer.session_name != known[1]


def was_accepted(observed: Observed) -> bool:
    """Did Ray take the job, and then said that it knows of none?"""
    submitted, word = observed.submitted, observed.word
    return submitted is not None and isinstance(submitted.answer, Accepted) and word is not None and word.at > submitted.at


def refused(observed: Observed, job: RayJob) -> bool:
    """Does Ray refuse the job, once as a fault of the job's or for long as one of its own? Or has the submitter given up while Ray knows
    of no such job?"""
    if job.spec.submission_mode == HTTP:
        return refused_by_ray(observed, job)
    ended, word = deadlines.submitter_end(observed), observed.word
    if ended is None or word is None:
        return False
    return isinstance(word.answer, NotFound) and word.at >= ended + deadlines.HEARD_AFTER


def refused_by_ray(observed: Observed, job: RayJob) -> bool:
    before, word, since = observed.submitted, observed.word, deadlines.refused_since(observed, job)
    if before is None or since is None:
        return False
    if isinstance(before.answer, Refused) and before.answer.code < 500 and before.answer.code not in PASSING:
        return True
    not_taken = word is not None and isinstance(word.answer, NotFound) and word.at > before.at
    return not_taken and observed.now >= since + observed.config.ray_job_status_check_timeout_seconds


def silent(observed: Observed, job: RayJob) -> bool:
    """Before the job runs only a head that is ready may be expected to answer, and not before it was."""
    since = deadlines.silent_since(observed, job)
    if since is not None and job.status.job_deployment_status == State.INITIALIZING:
        since = max(since, deadlines.ready_since(observed)) if ready(observed, job) else None
    return since is not None and observed.now >= since + observed.config.ray_job_status_check_timeout_seconds


def known(observed: Observed, job: RayJob) -> bool:
    return observed.info is not None


def no_cluster(observed: Observed, job: RayJob) -> bool:
    return observed.cluster is None and not job.spec.cluster_selector


def ready(observed: Observed, job: RayJob) -> bool:
    """Only a head that is ready now: what is submitted to another one is lost."""
    cluster = observed.cluster
    return isinstance(cluster, RayCluster) and cluster.status.state == "ready" and not cluster.metadata.deletion_timestamp


def ready_for_user(observed: Observed, job: RayJob) -> bool:
    return job.spec.submission_mode == INTERACTIVE and ready(observed, job)


def id_given(observed: Observed, job: RayJob) -> bool:
    return bool(named_id(job))


def gone(observed: Observed, job: RayJob) -> bool:
    """Nothing of the try is left but what the next one uses. A retry waits for its time besides."""
    if left_over(observed, job) or observed.submitter is not None:
        return False
    return job.status.job_deployment_status != State.RETRYING or observed.now >= deadlines.retry_at(job)


HOLDS: Mapping[Finding, Question] = {
    Finding.SUSPENSION: suspension,
    Finding.SUCCEEDED: says("SUCCEEDED"),
    Finding.FAILED: says("FAILED"),
    Finding.STOPPED: says("STOPPED"),
    Finding.STOPPED_AT_DEADLINE: stopped_at_deadline,
    Finding.LINGERING: lingering,
    Finding.DEADLINE: deadline,
    Finding.DEADLINE_AND_GRACE: deadline_and_grace,
    Finding.PRE_RUNNING_DEADLINE: pre_running_deadline,
    Finding.CLUSTER_LOST: cluster_lost,
    Finding.UNKNOWN_YET: unknown_yet,
    Finding.RECORD_LOST: record_lost,
    Finding.REFUSED: refused,
    Finding.SILENT: silent,
    Finding.KNOWN: known,
    Finding.NO_CLUSTER: no_cluster,
    Finding.READY: ready,
    Finding.READY_FOR_USER: ready_for_user,
    Finding.ID_GIVEN: id_given,
    Finding.GONE: gone,
}
