"""What a Pod is to a RayCluster: whether it is broken, and which slot of its group it fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayfleet.api.names import Slot
from rayfleet.api.views import PodView
from rayfleet.planning.readiness import because


def broken(pod: PodView) -> str | None:
    """Why the Pod can do no more work and will not come back by itself; None when that is not so (KubeRay, 2.6)."""
    if pod.status.phase == "Failed":
        return f"it has failed{because(pod)}"
    if pod.status.phase == "Succeeded":
        return "its Ray container has ended"
    ray = pod.ray_status
    if pod.running and pod.spec.restart_policy == "Never" and ray and ray.state.terminated:
        return f"its Ray container has ended with exit code {ray.state.terminated.exit_code} and may not restart"
    return None


def is_progress(old: PodView | None, new: PodView | None) -> bool:
    """Is the change from `old` to `new` one of a living Pod that lives on? Nothing is done about that but to tell of it."""
    if old is None or new is None or old.terminating != new.terminating:
        return False
    return not new.terminating and broken(new) is None and old.metadata.labels == new.metadata.labels


def slotted(pods: Iterable[PodView], hosts: int) -> dict[str, Slot]:
    """The slot of each Pod by its name: what its labels say, and for those that say nothing, or the same as another, the lowest free one.

    The oldest Pod keeps a contested slot; ties go by name.
    """
    by_age = sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
    slots: dict[str, Slot] = {}
    taken: set[Slot] = set()
    for pod in by_age:
        slot = pod.slot
        if slot is not None and slot not in taken and slot.host < hosts:
            slots[pod.name] = slot
            taken.add(slot)
    free = free_slots(taken, hosts)
    for pod in by_age:
        if pod.name not in slots:
            slots[pod.name] = next(free)
    return slots


def free_slots(taken: Iterable[Slot], hosts: int) -> Iterator[Slot]:
    """Slots that are not taken, the lowest first, without end."""
    held = frozenset(taken)
    replica = 0
    while True:
        for host in range(hosts):
            if (slot := Slot(replica, host)) not in held:
                yield slot
        replica += 1
