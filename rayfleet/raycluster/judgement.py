"""The conditions of a RayCluster and its old `state`, from what is observed (KubeRay, 1.2).

Conditions are output: no action is decided by one. The one memory among them is `RayClusterProvisioned`, which stays True after the first
time, as clients expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rayfleet.api import labels
from rayfleet.api.excerpt import clip
from rayfleet.api.fault import Fault
from rayfleet.api.meta import Condition
from rayfleet.api.names import account_name, head_stem, worker_stem
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.scaler import HOSTED, is_hosted
from rayfleet.planning.actions import scope_of
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.conditions import find, is_true
from rayfleet.planning.readiness import not_ready
from rayfleet.raycluster import certificates
from rayfleet.raycluster.children import ACCOUNTS, account_of
from rayfleet.raycluster.counters import desired_workers
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.protection import token_replaced
from rayfleet.raycluster.workers import scope, wanted_replicas

AUTOSCALING = "Autoscaling"
REPLICA_FAILURES = {
    "FailedToCreateHeadPod": "FailedCreateHeadPod",
    "FailedToDeleteHeadPod": "FailedDeleteHeadPod",
    "FailedToCreateWorkerPod": "FailedCreateWorkerPod",
    "FailedToDeleteWorkerPod": "FailedDeleteWorkerPod",
}


def conditions(observed: Observed, cluster: RayCluster) -> Iterator[Condition]:
    yield head_ready(observed)
    yield provisioned(observed, cluster)
    yield from suspension(observed, cluster)
    if scaling := autoscaling(observed, cluster):
        yield scaling
    if tls := certificates.ready(observed, cluster):
        yield tls
    if replaced := token_replaced(observed, cluster):
        yield replaced
    if failure := replica_failure(observed, cluster):
        yield failure


def autoscaling(observed: Observed, cluster: RayCluster) -> Condition | None:
    """What the loop that sizes the groups said last: its own to write, and kept as long as it may have more to say."""
    marked = any(head.metadata.annotation(labels.AUTOSCALING) == HOSTED for head in observed.heads())
    concerned = is_hosted(cluster.metadata, cluster.spec, observed.config) or (marked and bool(cluster.spec.enable_in_tree_autoscaling))
    return find(cluster.status.conditions, AUTOSCALING) if concerned else None


def head_ready(observed: Observed) -> Condition:
    heads = [pod for pod in observed.heads() if not pod.terminating]
    if not heads:
        return Condition("HeadPodReady", "False", "HeadPodNotFound", "there is no head Pod")
    head = heads[0]
    if head.ready:
        return Condition("HeadPodReady", "True", "HeadPodRunningAndReady")
    reason, message = not_ready(head)
    return Condition("HeadPodReady", "False", reason, clip(message))


def provisioned(observed: Observed, cluster: RayCluster) -> Condition:
    """True from the first time that every wanted Pod is ready until a suspension is complete."""
    ever = is_true(cluster.status.conditions, "RayClusterProvisioned") and not fully_suspended(observed, cluster)
    if ever or all_ready(observed, cluster):
        return Condition("RayClusterProvisioned", "True", "AllPodRunningAndReadyFirstTime", "All Ray Pods were ready for the first time")
    return Condition("RayClusterProvisioned", "False", "RayClusterPodsProvisioning", "Ray Pods are being made ready for the first time")


def all_ready(observed: Observed, cluster: RayCluster) -> bool:
    pods = [pod for pod in observed.pods if not pod.terminating]
    return len(pods) == desired_workers(cluster) + 1 and all(pod.ready for pod in pods) and any(pod.is_head for pod in pods)


def fully_suspended(observed: Observed, cluster: RayCluster) -> bool:
    return bool(cluster.spec.suspend) and not observed.pods


def suspension(observed: Observed, cluster: RayCluster) -> Iterator[Condition]:
    done = fully_suspended(observed, cluster)
    going = bool(cluster.spec.suspend) and not done
    yield Condition("RayClusterSuspending", str(going), "RayClusterSuspending")
    yield Condition("RayClusterSuspended", str(done), "RayClusterSuspended")


def replica_failure(observed: Observed, cluster: RayCluster) -> Condition | None:
    """What the API refused last; gone as soon as it accepts, or as nothing is missing any more for which it was asked."""
    if observed.rival and not observed.heads():
        return Condition("ReplicaFailure", "True", "StoreInUse", f"{observed.rival} keeps its state where this cluster is to keep its own")
    failures = [backoff for _, backoff in sorted(observed.backoffs.items()) if backoff.event and is_missed(observed, cluster, backoff)]
    if not failures:
        return None
    failures.sort(key=lambda failure: failure.event not in REPLICA_FAILURES)
    reason = REPLICA_FAILURES.get(failures[0].event, failures[0].event)
    return Condition("ReplicaFailure", "True", reason, clip(nameless(failures[0], cluster.metadata.name)))


def nameless(failure: Backoff, cluster: str) -> str:
    """The API's text without the ending of the Pod's name, which is another one for every Pod that is refused for the same reason."""
    group = failure.scope.removeprefix(scope(""))
    for stem in (head_stem(cluster), worker_stem(cluster, group)):
        ending = re.compile(rf"{re.escape(stem)}[a-z0-9]+")
        if failure.event in REPLICA_FAILURES and (found := ending.sub(f"{stem}*", failure.message)) != failure.message:
            return found
    return failure.message


def is_missed(observed: Observed, cluster: RayCluster, failure: Backoff) -> bool:
    """Is what could not be made still not there?"""
    if failure.event == "FailedToCreateHeadPod":
        return not any(not pod.terminating for pod in observed.heads())
    if failure.event == "FailedToCreateWorkerPod":
        for group in cluster.spec.worker_group_specs:
            if scope(group.group_name) == failure.scope:
                have = sum(not pod.terminating for pod in observed.workers(group.group_name))
                return have < wanted_replicas(group) * group.num_of_hosts
        return False
    if failure.scope in {scope_of(resource, account_name(cluster.metadata.name)) for resource in ACCOUNTS}:
        return account_of(observed, cluster) == account_name(cluster.metadata.name)
    return True


def valid(faults: Sequence[Fault]) -> Condition:
    if faults:
        return Condition("Valid", "False", "InvalidSpec", clip("; ".join(map(str, faults))))
    return Condition("Valid", "True", "SpecAccepted")


def state(observed: Observed, cluster: RayCluster, judged: Sequence[Condition]) -> str:
    """`ready`, `suspended` or "": what old clients read, as a function of the conditions."""
    if is_true(judged, "RayClusterSuspended"):
        return "suspended"
    if is_true(judged, "RayClusterProvisioned") and is_true(judged, "HeadPodReady"):
        return "ready"
    return ""
