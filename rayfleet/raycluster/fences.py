"""The names of new Pods, and the write that must come first where a name was used before (see `lives`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.api.names import Slot, fixed_head_name, head_stem, slot_names, worker_stem
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Create, Delete, Fence, Place
from rayfleet.raycluster.lives import Lives
from rayfleet.raycluster.observed import Observed
from rayfleet.resources import gcs_ft

SCOPE = "lives"
RAISED = "names of Pods that go must not come back"
ASKED = "our copy of the cluster must be the newest"
MOST_RAISES = 100
SPARE_SLOTS = 16
HEAD_SLOT = Slot(0, 0)


class NewPods(Protocol):
    """Pods of one group that are to be made, before their names are settled."""

    @property
    def group_name(self) -> str: ...

    @property
    def hosts(self) -> int: ...

    @property
    def slots(self) -> tuple[Slot, ...]: ...

    def create(self, observed: Observed, cluster: RayCluster, slot: Slot, lives: int, name: str) -> Create: ...


def slot_name(cluster: RayCluster, group: str, hosts: int, slot: Slot, lives: int) -> str:
    """The one name that a slot's Pod has in a life of the slot."""
    name = cluster.metadata.name
    stem = head_stem(name) if group == labels.HEAD_GROUP else worker_stem(name, group)
    # Whole powers of two, so that the names of a growing group are worked out a few times only.
    replicas = 1 << slot.replica.bit_length()
    return slot_names(stem, cluster.metadata.uid, group, lives, replicas, hosts)[slot]


def settle(observed: Observed, cluster: RayCluster, deletes: Sequence[Delete], news: Sequence[NewPods]) -> tuple[list[Fence], list[Create]]:
    """The write that must come first, if any, and the creates under names that were never used."""
    before, unsure = raised_for(observed, cluster, deletes)
    lives = before
    taken = used_names(observed, cluster)
    creates = []
    for new in news:
        if has_fixed_name(observed, cluster, new):
            creates.append(new.create(observed, cluster, HEAD_SLOT, 0, fixed_head_name(cluster.metadata.name)))
            continue
        for replica in sorted({slot.replica for slot in new.slots}):
            slots = [slot for slot in new.slots if slot.replica == replica]
            lives, names = free_names(cluster, new, slots, lives, taken)
            taken |= set(names)
            life = lives.of(new.group_name, replica)
            creates += [new.create(observed, cluster, slot, life, name) for slot, name in zip(slots, names, strict=True)]
    missed = [place for new in news for place in given_up(observed, cluster, new, before, lives)]
    if not observed.alone:  # our copy may lack another's last raise
        unsure = unsure or any(not has_fixed_name(observed, cluster, new) for new in news)
    return fence(observed, lives, missed, unsure), creates


def has_fixed_name(observed: Observed, cluster: RayCluster, new: NewPods) -> bool:
    """A head whose name is the same in every life: the next one is refused until the last one is gone.

    Where the store lies on a volume it must be: there may only ever be one writer, and of two heads of one name the API takes one, whoever
    makes them and when.
    """
    is_fixed = observed.config.enable_deterministic_head_pod_name or gcs_ft.backend(cluster) == gcs_ft.ROCKSDB
    return new.group_name == labels.HEAD_GROUP and is_fixed


def given_up(observed: Observed, cluster: RayCluster, new: NewPods, before: Lives, after: Lives) -> Iterator[Place]:
    """The places of Pods that are taken for gone, or seen to go, so that their slots get new names."""
    pods = {pod.name: pod for pod in observed.pods}
    for slot in new.slots:
        for life in range(before.of(new.group_name, slot.replica), after.of(new.group_name, slot.replica)):
            name = slot_name(cluster, new.group_name, new.hosts, slot, life)
            pod = pods.get(name)
            if pod is None:  # it went, or workersToDelete lists it and it was never seen
                yield Place(PODS, cluster.metadata.namespace, name)
            elif pod.terminating:
                yield Place(PODS, cluster.metadata.namespace, name, pod.metadata.uid)


def free_names(cluster: RayCluster, new: NewPods, slots: Sequence[Slot], lives: Lives, taken: set[str]) -> tuple[Lives, list[str]]:
    """Names for the slots of one replica in the first of its lives in which none was used."""
    replica = slots[0].replica
    for _ in range(MOST_RAISES):
        life = lives.of(new.group_name, replica)
        names = [slot_name(cluster, new.group_name, new.hosts, slot, life) for slot in slots]
        if taken.isdisjoint(names):
            return lives, names
        lives = lives.raised(new.group_name, replica)
    raise ValueError(f"no free name for replica {replica} of group {new.group_name} in {MOST_RAISES} lives")


def raised_for(observed: Observed, cluster: RayCluster, deletes: Sequence[Delete]) -> tuple[Lives, bool]:
    """The lives of slots whose Pods are to go; and whether one goes that bears a name of our form which is no slot's next one.

    Such a Pod was made by another operator, or our copy of the owner is so old that it lacks the last raise: only the API can tell.
    """
    lives, unsure = observed.lives, False
    going = {delete.uid for delete in deletes}
    for pod in observed.pods:
        if pod.metadata.uid in going:
            if place := place_of(observed, cluster, pod):
                lives = lives.raised(*place)
            else:
                unsure = unsure or pod.name.startswith(stems(cluster))
    return lives, unsure


def stems(cluster: RayCluster) -> tuple[str, ...]:
    name = cluster.metadata.name
    return head_stem(name), *(worker_stem(name, group.group_name) for group in cluster.spec.worker_group_specs)


def place_of(observed: Observed, cluster: RayCluster, pod: PodView) -> tuple[str, int] | None:
    """The group and replica whose present name the Pod has: as its labels say, or, where somebody spoiled them, as its name says."""
    hosts = {labels.HEAD_GROUP: 1, **{group.group_name: group.num_of_hosts for group in cluster.spec.worker_group_specs}}
    slot = HEAD_SLOT if pod.is_head else pod.slot
    if slot is not None and is_named(observed, cluster, pod, pod.group, max(hosts.get(pod.group, 1), slot.host + 1), slot):
        return pod.group, slot.replica
    for group, number in hosts.items():
        replicas = 1 if group == labels.HEAD_GROUP else len(observed.pods) + SPARE_SLOTS
        for slot in (Slot(replica, host) for replica in range(replicas) for host in range(number)):
            if is_named(observed, cluster, pod, group, number, slot):
                return group, slot.replica
    return None


def is_named(observed: Observed, cluster: RayCluster, pod: PodView, group: str, hosts: int, slot: Slot) -> bool:
    return pod.name == slot_name(cluster, group, hosts, slot, observed.lives.of(group, slot.replica))


def used_names(observed: Observed, cluster: RayCluster) -> set[str]:
    """Names that a Pod has, had, or is to lose; where a head comes but once, also of one that was there before this process."""
    listed = {name for group in cluster.spec.worker_group_specs for name in group.scale_strategy.workers_to_delete}
    reported = {cluster.status.head.pod_name} if comes_once(cluster) else set()
    return {pod.name for pod in observed.pods} | observed.gone | listed | reported


def comes_once(cluster: RayCluster) -> bool:
    """A head that submits a job by itself may have done so before all of the cluster was ready."""
    return cluster.metadata.label(labels.SUBMISSION_MODE) == SIDECAR


def fence(observed: Observed, lives: Lives, missed: Sequence[Place], unsure: bool) -> list[Fence]:
    """Nothing when all lives stay, unless we are unsure of them: then our view of the owner is tested, and nothing is written."""
    raised = lives != observed.lives
    if not raised and not unsure:
        return []
    meta = observed.cluster.metadata
    written = Fence(
        resource=RAYCLUSTERS,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        annotations={labels.LIVES: str(lives) or None} if raised else {},
        scope=SCOPE,
        reason=RAISED if raised else ASKED,
        absent=tuple(missed),
    )
    return [written]


def was_seen_to_go(observed: Observed, cluster: RayCluster, group: str, hosts: int, slot: Slot) -> bool:
    """Did the slot's Pod of the present life vanish, or is it on its way out?"""
    name = slot_name(cluster, group, hosts, slot, observed.lives.of(group, slot.replica))
    return name in observed.gone or any(pod.name == name and pod.terminating for pod in observed.workers(group))
