"""Why a job does not run yet, in the words of whoever knows: the API server, the cluster, the kubelet, or Ray."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.labels import CLUSTER
from rayfleet.api.raycluster import RayCluster, RayClusterStatus
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.conditions import find
from rayfleet.planning.readiness import COMING_UP, not_ready
from rayfleet.ray.answer import Refused, Unreachable
from rayfleet.rayjob.observed import Observed

TROUBLES = ("Valid", "ReplicaFailure", "HeadPodReady")


def hindrance(observed: Observed, job: RayJob) -> str:
    """Why the job does not run yet, where that is more than that it takes its time."""
    if failures := [backoff.message for _, backoff in sorted(observed.backoffs.items()) if backoff.message]:
        return failures[0]
    cluster = observed.cluster
    if isinstance(cluster, Undecodable):
        return f"RayCluster {cluster.metadata.name} cannot be read: {cluster.error}"
    if cluster is None:
        return f"there is no RayCluster {job.spec.cluster_selector.get(CLUSTER, '')}" if job.spec.cluster_selector else ""
    if found := of_cluster(observed):
        return found
    answer = next((heard.answer for heard in (observed.version, observed.word) if heard), None)
    if isinstance(answer, Refused):
        return f"Ray answered {answer.code}: {answer.text}"
    return f"Ray does not answer: {answer.text}" if isinstance(answer, Unreachable) and observed.now > answer_since(observed) + 10 else ""


def of_cluster(observed: Observed) -> str:
    """What is wrong with the cluster or its Pods; "" when nothing is."""
    return (trouble(observed.cluster.status) or of_workers(observed)) if isinstance(observed.cluster, RayCluster) else ""


def of_workers(observed: Observed) -> str:
    """What keeps the first worker that cannot start; "" when they only take their time. The cluster's conditions do not say it."""
    for pod in observed.workers:
        reason, message = ("", "") if pod.ready or pod.terminating else not_ready(pod)
        if reason not in COMING_UP:
            return f"worker {pod.name}: {reason}: {message}" if message else f"worker {pod.name}: {reason}"
    return ""


def answer_since(observed: Observed) -> float:
    heard = observed.version or observed.word
    return heard.since if heard else observed.now


def trouble(status: RayClusterStatus) -> str:
    """The cluster's own word for what is wrong with it; "" when nothing is."""
    for kind in TROUBLES:
        found = find(status.conditions, kind)
        bad = found is not None and found.status == ("True" if kind == "ReplicaFailure" else "False")
        if found is not None and bad and (kind != "HeadPodReady" or found.reason not in COMING_UP):
            return f"{found.reason}: {found.message}" if found.message else found.reason
    return ""
