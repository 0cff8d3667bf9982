"""The Pods of one worker group: which must go, which are too many, which are missing (KubeRay, 2.6).

A replica is one Pod, or as many as the group has hosts; it lives and goes as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rayfleet.api.meta import PODS
from rayfleet.api.names import Slot, slot_names, worker_stem
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Create, Delete, Subject
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.pods import broken, free_slots, slotted
from rayfleet.resources.pod import worker_pod


def scope(group: str) -> str:
    return f"worker/{group}"


def subject(group: str) -> Subject:
    return Subject(f"worker Pod of group {group}", f"worker Pods of group {group}")


@dataclass(frozen=True, slots=True)
class NewWorkers:
    """Worker Pods to be made, before the number of lives, and so their names, is settled."""

    group: WorkerGroupSpec
    slots: tuple[Slot, ...]
    reason: str

    def all_names(self, cluster: RayCluster, lives: int) -> dict[Slot, str]:
        replicas = max(slot.replica for slot in self.slots) + 1
        stem = worker_stem(cluster.metadata.name, self.group.group_name)
        return slot_names(stem, cluster.metadata.uid, self.group.group_name, lives, replicas, self.group.num_of_hosts)

    def names(self, cluster: RayCluster, lives: int) -> tuple[str, ...]:
        names = self.all_names(cluster, lives)
        return tuple(names[slot] for slot in self.slots)

    def creates(self, observed: Observed, cluster: RayCluster, lives: int) -> Iterator[Create]:
        names = self.all_names(cluster, lives)
        for slot in self.slots:
            yield Create(
                resource=PODS,
                namespace=cluster.metadata.namespace,
                name=names[slot],
                manifest=worker_pod(cluster, self.group, slot, lives, names[slot], observed.config),
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
    doomed = condemned(active, slots, group)
    kept = replicas_of([pod for pod in active if pod.name not in doomed], slots)
    wanted = wanted_replicas(group)
    deletes = [delete(pod, doomed[pod.name], setback=broken(pod) is not None) for pod in active if pod.name in doomed]
    surplus = len(kept) - wanted
    if surplus > 0 and removes_unnamed(cluster, group):
        for replica in sorted(kept, key=lambda index: least_missed(kept[index], index))[:surplus]:
            deletes += [delete(pod, surplus_reason(group, len(kept), wanted)) for pod in kept[replica]]
    going = len({slots[name].replica for name in doomed})
    short = wanted - len(kept) - going
    if short <= 0 or observed.held_back(scope(group.group_name)):
        return deletes, []
    return deletes, [missing(group, slots, len(kept), wanted, short)]


def missing(group: WorkerGroupSpec, slots: dict[str, Slot], kept: int, wanted: int, short: int) -> NewWorkers:
    occupied = {slot.replica for slot in slots.values()}
    taken = [Slot(replica, host) for replica in occupied for host in range(group.num_of_hosts)]
    free = tuple(islice(free_slots(taken, group.num_of_hosts), short * group.num_of_hosts))
    return NewWorkers(group, free, f"{kept} of {wanted} replicas are there")


def condemned(active: Sequence[PodView], slots: dict[str, Slot], group: WorkerGroupSpec) -> dict[str, str]:
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
        for replica in replicas_of(active, slots).values():
            if any(pod.name in doomed for pod in replica):
                why = "another host of its replica goes"
            elif len(replica) < group.num_of_hosts:
                why = f"its replica has {len(replica)} of {group.num_of_hosts} hosts"
            else:
                continue
            doomed |= {pod.name: why for pod in replica if pod.name not in doomed}
    return doomed


def replicas_of(pods: Sequence[PodView], slots: dict[str, Slot]) -> dict[int, list[PodView]]:
    replicas: dict[int, list[PodView]] = {}
    for pod in pods:
        replicas.setdefault(slots[pod.name].replica, []).append(pod)
    return replicas


def removes_unnamed(cluster: RayCluster, group: WorkerGroupSpec) -> bool:
    """May a surplus be removed that nobody named? With an autoscaler only it knows which workers are idle."""
    return not cluster.spec.enable_in_tree_autoscaling or bool(group.suspend)


def surplus_reason(group: WorkerGroupSpec, kept: int, wanted: int) -> str:
    return f"{kept} replicas are there, {wanted} are wanted"


def least_missed(replica: Sequence[PodView], index: int) -> tuple[int, int]:
    """Sorts what is least missed first: not ready before ready, then the highest slot."""
    return sum(pod.ready for pod in replica), -index


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
