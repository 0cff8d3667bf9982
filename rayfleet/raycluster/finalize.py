"""A cluster whose state lies in Redis is held by a finalizer until its storage namespace there is empty, or until nobody waits any longer
(KubeRay, 2.7).

heads go -> clean-up Job -> it ends -> released. Whatever gets in the way, the deadline counts from the deletion and needs nothing but a
clock: a head that cannot end, a Job that is refused or never ends, a spec that can no longer be read, an operator that was not there.
"""

from __future__ import annotations

from dataclasses import replace

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import JOBS, RAYCLUSTERS
from rayfleet.api.names import cleanup_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import JobView
from rayfleet.planning.actions import Action, AddFinalizer, Create, RemoveFinalizer, Subject
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.finalizer import SCOPE, held
from rayfleet.planning.finalizer import released as without
from rayfleet.planning.plan import Plan
from rayfleet.raycluster import head, workers
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.status import trouble_write
from rayfleet.resources import gcs_ft
from rayfleet.resources.gcs_cleanup import cleanup_job

JOB_SCOPE = "job"
TIMEOUT = 300.0  # seconds
JOB = Subject("Redis clean-up Job", "Redis clean-up Jobs")


def hold(observed: Observed, cluster: RayCluster) -> list[AddFinalizer]:
    """The finalizer of a cluster that lacks it: before it is there, nothing may be made that writes into Redis."""
    if gcs_ft.backend(cluster) != gcs_ft.REDIS or not observed.config.enable_gcs_ft_redis_cleanup:
        return []
    return held(RAYCLUSTERS, cluster.metadata, labels.REDIS_FINALIZER, "its keys in Redis are to go with it")


def finalize(observed: Observed) -> Plan:
    """The plan for a cluster that was deleted."""
    if labels.REDIS_FINALIZER not in (observed.cluster.metadata.finalizers or ()):
        return Plan()
    if release := released(observed):
        actions: tuple[Action, ...] = () if observed.held_back(SCOPE) else (release,)
    else:
        actions = (*pods_going(observed), *clean_up(observed))
    waits = [wait for wait in (observed.next_try(), left(observed)) if wait is not None and wait > 0]
    return Plan(actions, trouble_write(observed), min(waits, default=None))


def left(observed: Observed) -> float:
    """Seconds until the deadline; not positive when it has passed."""
    return deleted_at(observed) + timeout(observed) - observed.now


def deleted_at(observed: Observed) -> float:
    return parse_rfc3339(observed.cluster.metadata.deletion_timestamp or "")


def timeout(observed: Observed) -> float:
    """Seconds that the clean-up may take: the annotation's whole number, where it is one."""
    given = observed.cluster.metadata.annotation(labels.DELETION_TIMEOUT)
    return float(given) if given.isdecimal() and int(given) > 0 else TIMEOUT


def released(observed: Observed) -> RemoveFinalizer | None:
    """The end, if it has come: the duty is done, cannot be done, or has taken too long."""
    cluster = observed.cluster
    job = job_of(observed)
    if job is not None and job.complete:
        return release(observed, "its keys in Redis are removed", "")
    if job is not None and (failure := job.failure):
        return release(observed, f"the Redis clean-up Job failed ({failure}), {remains(observed)}", "RedisCleanupFailed")
    if left(observed) <= 0:
        why = f"{timeout(observed):.0f} s after the deletion {hindrance(observed)}, {remains(observed)}"
        return release(observed, why, "ForceDeletedStuckCluster")
    if observed.heads():
        return None
    if observed.rival:
        return release(observed, f"{observed.rival} keeps its state in the same place of Redis, which is left alone", "RedisCleanupSkipped")
    if isinstance(cluster, RayCluster) and gcs_ft.backend(cluster) != gcs_ft.REDIS:
        why = f"the spec no longer says which Redis it used, {remains(observed)}"
        return release(observed, why, "ForceDeletedStuckCluster")
    if not observed.config.enable_gcs_ft_redis_cleanup:
        return release(observed, f"the clean-up of Redis is switched off, {remains(observed)}", "ForceDeletedStuckCluster")
    refused = observed.backoffs.get(JOB_SCOPE)
    if refused and refused.event == "NamespaceTerminating":
        return release(observed, f"no Job can be made in a namespace that is going, {remains(observed)}", "ForceDeletedStuckCluster")
    return None


def hindrance(observed: Observed) -> str:
    """What the deadline found undone."""
    if heads := observed.heads():
        return f"head Pod {heads[0].name} is still there"
    if isinstance(observed.cluster, Undecodable):
        return "the spec cannot be read"
    if job_of(observed) is not None:
        return "the Redis clean-up Job has not ended"
    refused = observed.backoffs.get(JOB_SCOPE)
    return f"there is no Redis clean-up Job ({refused.message})" if refused else "there is no Redis clean-up Job"


def remains(observed: Observed) -> str:
    cluster = observed.cluster
    namespace = gcs_ft.storage_namespace(cluster) if isinstance(cluster, RayCluster) else cluster.metadata.uid
    return f"and keys of storage namespace {namespace} may be left in Redis"


def release(observed: Observed, reason: str, event: str) -> RemoveFinalizer:
    return without(RAYCLUSTERS, observed.cluster.metadata, labels.REDIS_FINALIZER, reason, event)


def pods_going(observed: Observed) -> list[Action]:
    """A head that lives would write its keys again behind the clean-up. Who deleted the cluster need not be told of its Pods."""
    reason = "the cluster was deleted"
    active = [pod for pod in observed.pods if not pod.terminating]
    deletes = [head.delete(pod, reason) if pod.is_head else workers.delete(pod, reason) for pod in active]
    return [replace(delete, event="") for delete in deletes if not observed.refused(delete.scope, delete.failed_event)]


def clean_up(observed: Observed) -> list[Action]:
    """The Job, once no head is left. One that somebody deleted is made again when it is gone."""
    cluster = observed.cluster
    if observed.heads() or job_of(observed) is not None or isinstance(cluster, Undecodable) or observed.held_back(JOB_SCOPE):
        return []
    create = Create(
        resource=JOBS,
        namespace=cluster.metadata.namespace,
        name=cleanup_name(cluster.metadata.name),
        manifest=cleanup_job(cluster, observed.config),
        scope=JOB_SCOPE,
        reason="the cluster was deleted, and its keys in Redis are to go with it",
        subject=JOB,
        event="CreatedRedisCleanupJob",
        failed_event="FailedToCreateRedisCleanupJob",
    )
    return [create]


def job_of(observed: Observed) -> JobView | None:
    name = cleanup_name(observed.cluster.metadata.name)
    return next((job for job in observed.jobs if job.name == name), None)
