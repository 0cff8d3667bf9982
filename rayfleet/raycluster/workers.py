"""The Pods of one worker group: which must go, which are too many, which are missing (KubeRay, 2.6).

A replica is one Pod, or as many as the group has hosts; it lives and goes as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rayfleet.api import labels
from rayfleet.api.meta import PODS
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Create, Delete, Subject
from rayfleet.raycluster.fences import was_seen_to_go
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.pods import broken, free_slots, slotted
from rayfleet.resources.pod import worker_pod


def scope(group: str) -> str:
    return f"worker/{group}"


def subject(group: str) -> Subject:
    return Subject(f"worker Pod of group {group}", f"worker Pods of group {group}")


@dataclass(frozen=True, slots=True)
class NewWorkers:
    """Worker Pods of one group that are to be made."""

    group: WorkerGroupSpec
    slots: tuple[Slot, ...]
    reason: str

    @property
    def group_name(self) -> str:
        return self.group.group_name

    @property
    def hosts(self) -> int:
        return self.group.num_of_hosts

    def create(self, observed: Observed, cluster: RayCluster, slot: Slot, lives: int, name: str) -> Create:
        return Create(
            resource=PODS,
            namespace=cluster.metadata.namespace,
            name=name,
            manifest=worker_pod(cluster, self.group, slot, lives, name, observed.config),
            scope=scope(self.group.group_name),
            reason=self.reason,
            subject=subject(self.group.group_name),
            event="CreatedWorkerPod",
            failed_event="FailedToCreateWorkerPod",
        )


def wanted_replicas(group: WorkerGroupSpec) -> int:
    """`replicas` within its bounds; none while the group is suspended."""
    return 0 if group.suspend else max(group.min_replicas, min(group.replicas, group.max_replicas))


def plan_group(observed: Observed, cluster: RayCluster, group: WorkerGroupSpec) -> tuple[list[Delete], list[NewWorkers]]:
    """What must go now, and what is missing besides. A Pod deleted here is replaced only when it is seen to go."""
    active = [pod for pod in observed.workers(group.group_name) if not pod.terminating]
    slots = slotted(active, group.num_of_hosts)
    doomed = condemned(observed, cluster, group, active, slots)
    kept = replicas_of([pod for pod in active if pod.name not in doomed], slots)
    wanted = wanted_replicas(group)
    deletes = [delete(pod, doomed[pod.name], setback=broken(pod) is not None) for pod in active if pod.name in doomed]
    count = len(kept)
    if count > wanted and removes_unnamed(observed, cluster, group):
        for replica in least_missed(kept)[: count - wanted]:
            deletes += [delete(pod, f"{count} replicas are there, {wanted} are wanted") for pod in kept.pop(replica)]
    if observed.held_back(scope(group.group_name)):
        return deletes, []
    going = len({slots[name].replica for name in doomed})
    new = [*missing_hosts(group, kept, slots), *missing_replicas(group, slots, wanted - count - going)]
    return deletes, [NewWorkers(group, tuple(new), f"{count} of {wanted} replicas are there")] if new else []


def missing_hosts(group: WorkerGroupSpec, kept: Mapping[int, Sequence[PodView]], slots: Mapping[str, Slot]) -> list[Slot]:
    """The hosts that replicas which are being made still lack."""
    have = {slots[pod.name] for pods in kept.values() for pod in pods}
    return [slot for replica in sorted(kept) for host in range(group.num_of_hosts) if (slot := Slot(replica, host)) not in have]


def missing_replicas(group: WorkerGroupSpec, slots: Mapping[str, Slot], short: int) -> list[Slot]:
    occupied = {slot.replica for slot in slots.values()}
    taken = [Slot(replica, host) for replica in occupied for host in range(group.num_of_hosts)]
    return list(islice(free_slots(taken, group.num_of_hosts), max(short, 0) * group.num_of_hosts))


def condemned(
    observed: Observed, cluster: RayCluster, group: WorkerGroupSpec, active: Sequence[PodView], slots: dict[str, Slot]
) -> dict[str, str]:
    """Pods that must go whatever the count, by name, with the reason."""
    listed = frozenset(group.scale_strategy.workers_to_delete)
    doomed: dict[str, str] = {}
    for pod in active:
        if why := broken(pod):
            doomed[pod.name] = why
        elif group.suspend:
            doomed[pod.name] = "its group is suspended"
        elif pod.name in listed:
            doomed[pod.name] = "workersToDelete lists it"
    if group.num_of_hosts > 1:
        for index, replica in replicas_of(active, slots).items():
            if any(pod.name in doomed for pod in replica):
                why = "another host of its replica goes"
            elif lost_a_host(observed, cluster, group, index, [slots[pod.name].host for pod in replica], replica):
                why = f"its replica has {len(replica)} of {group.num_of_hosts} hosts"
            elif is_mixed(replica, slots):
                why = "the hosts of its replica were not made together"
            else:
                continue
            doomed |= {pod.name: why for pod in replica if pod.name not in doomed}
    return doomed


def lost_a_host(
    observed: Observed, cluster: RayCluster, group: WorkerGroupSpec, index: int, hosts: Sequence[int], replica: Sequence[PodView]
) -> bool:
    """Was the replica whole before? One that is only half made yet is completed, not torn down."""
    missing = [Slot(index, host) for host in range(group.num_of_hosts) if host not in hosts]
    if missing and any(pod.ready for pod in replica):
        return True
    return any(was_seen_to_go(observed, cluster, group.group_name, group.num_of_hosts, slot) for slot in missing)


def is_mixed(replica: Sequence[PodView], slots: Mapping[str, Slot]) -> bool:
    """Are its hosts of two lives? So an operator with an old view may leave it; each host then waits for others that never come."""
    named = {pod.metadata.label(labels.REPLICA_NAME) for pod in replica if pod.slot == slots[pod.name]}
    return len(named - {""}) > 1


def replicas_of(pods: Sequence[PodView], slots: dict[str, Slot]) -> dict[int, list[PodView]]:
    replicas: dict[int, list[PodView]] = {}
    for pod in pods:
        replicas.setdefault(slots[pod.name].replica, []).append(pod)
    return replicas


def removes_unnamed(observed: Observed, cluster: RayCluster, group: WorkerGroupSpec) -> bool:
    """May a surplus be removed that nobody named? With an autoscaler only it knows which workers are idle, unless the operator was told
    not to care."""
    return not cluster.spec.enable_in_tree_autoscaling or bool(group.suspend) or observed.config.enable_random_pod_delete


def least_missed(replicas: Mapping[int, Sequence[PodView]]) -> list[int]:
    """The order in which a surplus goes: not scheduled, not ready, a lower deletion cost, younger, a higher slot (as a ReplicaSet's)."""
    order = sorted(replicas, reverse=True)
    order.sort(key=lambda index: min(pod.metadata.creation_timestamp or "" for pod in replicas[index]), reverse=True)
    order.sort(key=lambda index: worth(replicas[index]))
    return order


def worth(replica: Sequence[PodView]) -> tuple[bool, bool, int]:
    return all(pod.spec.node_name for pod in replica), all(pod.ready for pod in replica), sum(pod.deletion_cost for pod in replica)


def plan_removed_groups(observed: Observed, cluster: RayCluster) -> list[Delete]:
    """Workers of groups that the spec no longer has."""
    named = {group.group_name for group in cluster.spec.worker_group_specs}
    return [
        delete(pod, f"group {pod.group} is no longer in the spec")
        for pod in observed.workers()
        if pod.group not in named and not pod.terminating
    ]


def delete(pod: PodView, reason: str, *, setback: bool = False) -> Delete:
    return Delete(
        resource=PODS,
        namespace=pod.metadata.namespace,
        name=pod.name,
        uid=pod.metadata.uid,
        scope=scope(pod.group),
        reason=reason,
        subject=subject(pod.group),
        event="DeletedWorkerPod",
        failed_event="FailedToDeleteWorkerPod",
        setback=setback,
    )
