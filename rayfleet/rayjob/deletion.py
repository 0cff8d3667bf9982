"""What goes when the job has ended, and when; and the end of the RayJob itself (KubeRay, 3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import JOBS, RAYCLUSTERS, RAYJOBS
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import DELETE_CLUSTER, DELETE_NONE, DELETE_SELF, DELETE_WORKERS, K8S_JOB
from rayfleet.planning.actions import Action, AddFinalizer, Delete, Patch, Subject
from rayfleet.planning.finalizer import SCOPE, held, released
from rayfleet.planning.plan import Plan
from rayfleet.ray.answer import NotFound
from rayfleet.rayjob import deadlines
from rayfleet.rayjob.cluster import NOUNS, delete
from rayfleet.rayjob.findings import may_be_known, may_be_submitted
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import State
from rayfleet.rayjob.submission import plan_stop, stop_in_vain, stop_settled

SELF_SCOPE, WORKERS_SCOPE = "self", "workers"
OWNER = Subject("RayJob", "RayJobs")
HARDER_FIRST = (DELETE_SELF, DELETE_CLUSTER, DELETE_WORKERS, DELETE_NONE)


def hold(job: RayJob) -> list[AddFinalizer]:
    """The finalizer of a job that lacks it: before it is there nothing may be submitted."""
    return held(RAYJOBS, job.metadata, labels.JOB_FINALIZER, "its Ray job is to be stopped when it goes")


def release(observed: Observed) -> Plan:
    """The plan for a job that was deleted: a best-effort stop, and no longer wait than its grace."""
    job = observed.job
    if labels.JOB_FINALIZER not in (job.metadata.finalizers or ()):
        return Plan()
    over = not isinstance(job, RayJob) or job.status.job_deployment_status in (State.COMPLETE, State.FAILED, State.SUSPENDED)
    if isinstance(job, RayJob) and not over and (left := grace_left(observed, job)) > 0:
        if may_submit_elsewhere(observed, job):
            return Plan(tuple(submitter_goes(observed)), None, left)
        if not stop_settled(observed, job) or may_run_elsewhere(observed, job):
            return Plan((), None, min(left, observed.next_try() or left), (), tuple(plan_stop(observed, job)))
    if wait := observed.held_back(SCOPE):
        return Plan(requeue_after=wait)
    return Plan((released(RAYJOBS, job.metadata, labels.JOB_FINALIZER, "nothing of its Ray job runs on"),))


def grace_left(observed: Observed, job: RayJob) -> float:
    """Seconds. By a clock that is behind the API's what is in vain is not waited for any longer than by another one."""
    left, word = deadlines.time_of(job.metadata.deletion_timestamp) + deadlines.DELETION_GRACE - observed.now, observed.word
    silent = word is not None and observed.info is None and observed.now >= word.since + deadlines.DELETION_GRACE
    if left > deadlines.DELETION_GRACE and (silent or stop_in_vain(observed)):
        return 0.0
    return min(left, deadlines.DELETION_GRACE)


def may_submit_elsewhere(observed: Observed, job: RayJob) -> bool:
    """Is there, or was there a moment ago, a submitter that may still submit to a cluster that stays? It outlives its Job by a little."""
    selects = bool(job.spec.cluster_selector) and job.spec.submission_mode == K8S_JOB
    return selects and may_be_submitted(observed, job) and observed.info is None


def may_run_elsewhere(observed: Observed, job: RayJob) -> bool:
    """Does the Ray of a cluster that stays not say at present how its job is? It may be told to stop it in a moment."""
    silent = observed.target is not None and observed.info is None and not (observed.word and isinstance(observed.word.answer, NotFound))
    return bool(job.spec.cluster_selector) and may_be_known(observed, job) and silent


def submitter_goes(observed: Observed) -> Iterator[Action]:
    found = observed.submitter
    if found is not None and not found.terminating and not observed.held_back(f"delete/{JOBS.kind}"):
        yield delete(JOBS, found, "the RayJob is deleted before its job was submitted")


def policies(observed: Observed, job: RayJob) -> Iterator[tuple[float, str]]:
    """(when, what goes) for the way in which the job ended."""
    spec, status = job.spec, job.status
    ended = deadlines.time_of(status.end_time)
    strategy = spec.deletion_strategy
    if strategy is not None and strategy.deletion_rules:
        for rule in strategy.deletion_rules:
            if holds(status.job_status, status.job_deployment_status, rule.condition.job_status, rule.condition.job_deployment_status):
                yield ended + rule.condition.ttl_seconds, rule.policy
    elif strategy is not None:
        chosen = strategy.on_success if status.job_status == "SUCCEEDED" else strategy.on_failure
        if chosen is not None and chosen.policy:
            yield ended + spec.ttl_seconds_after_finished, chosen.policy
    elif spec.shutdown_after_job_finishes:
        policy = DELETE_SELF if observed.config.delete_ray_job_after_job_finishes else DELETE_CLUSTER
        yield ended + spec.ttl_seconds_after_finished, policy


def holds(job_status: str, deployment: str, wanted: str | None, wanted_deployment: str | None) -> bool:
    """A job that was stopped did not succeed: what is said of FAILED holds for it."""
    if wanted is not None:
        return job_status == wanted or (wanted == "FAILED" and job_status == "STOPPED")
    return deployment == wanted_deployment


def clean_up(observed: Observed, job: RayJob) -> list[Action]:
    """The most that is due. A cluster that is selected is never ours to remove."""
    due = {policy for when, policy in policies(observed, job) if when <= observed.now}
    hardest = next((policy for policy in HARDER_FIRST if policy in due), DELETE_NONE)
    going = (*late_submitter(observed, job), *carried_out(observed, job, hardest))
    return [action for action in going if not observed.held_back(action.scope)]


def late_submitter(observed: Observed, job: RayJob) -> Iterator[Action]:
    """One that has not come to submit by now must not do so when the job has failed."""
    found, over = observed.submitter, deadlines.submitter_end(observed) is not None
    if job.status.job_deployment_status == State.FAILED and not job.status.job_status and found and not found.terminating and not over:
        yield delete(JOBS, found, "the job has failed before it was submitted")


def carried_out(observed: Observed, job: RayJob, policy: str) -> Iterator[Action]:
    why = f"the job has ended, and {policy} is due"
    if policy == DELETE_SELF:
        meta = job.metadata
        yield Delete(
            resource=RAYJOBS,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            scope=SELF_SCOPE,
            reason=why,
            subject=OWNER,
            event="",
            failed_event="FailedToDeleteRayJob",
        )
    for cluster in observed.owned if policy in (DELETE_CLUSTER, DELETE_WORKERS) else ():
        if cluster.metadata.deletion_timestamp:
            continue
        if policy == DELETE_CLUSTER:
            yield delete(RAYCLUSTERS, cluster, why)
        elif isinstance(cluster, RayCluster) and any(not group.suspend for group in cluster.spec.worker_group_specs):
            yield suspended(cluster, why)


def suspended(cluster: RayCluster, why: str) -> Patch:
    """All worker groups suspended. A merge patch replaces the whole list."""
    groups: tuple[WorkerGroupSpec, ...] = cluster.spec.worker_group_specs
    whole = [{**msgspec.json.decode(msgspec.json.encode(group)), "suspend": True} for group in groups]
    return Patch(
        resource=RAYCLUSTERS,
        namespace=cluster.metadata.namespace,
        name=cluster.metadata.name,
        uid=cluster.metadata.uid,
        patch={"spec": {"workerGroupSpecs": whole}},
        scope=WORKERS_SCOPE,
        reason=why,
        subject=NOUNS[RAYCLUSTERS],
        event="UpdatedRayCluster",
        failed_event="FailedToUpdateRayCluster",
    )


def next_due(observed: Observed, job: RayJob) -> float | None:
    """Seconds until the next policy is due; None when none is to come."""
    return min((when - observed.now for when, _ in policies(observed, job) if when > observed.now), default=None)
