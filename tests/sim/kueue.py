"""The steps of Kueue's job reconciler that RayJobs and RayClusters meet (https://kueue.sigs.k8s.io/docs/concepts/, its jobframework):

a job with a queue is suspended when it is made; when there is room it is given node selectors and resumed; it is evicted by suspending it,
and only when it is no longer active its templates are put back and its room is another's; one that has finished gives its room back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, Key, Resource
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.world import World

QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE = "kueue"


class Kueue:
    """One queue with `room` for so many at once; each admission goes to the next of its `flavors`."""

    def __init__(self, world: World, room: int = 1, flavors: tuple[str, ...] = ("spot", "on-demand")) -> None:
        self.world = world
        self.room = room
        self.flavors = flavors
        self.admitted: list[tuple[Resource, Key]] = []
        self.evicting: set[tuple[Resource, Key]] = set()
        self.kept: dict[tuple[Resource, Key], Obj] = {}
        self.admissions = 0
        world.clock.spawn(self.work())

    def submit(self, obj: Obj) -> None:
        """As its webhook lets it in: suspended."""
        marks = {**obj["metadata"], "labels": {QUEUE: "team"}}
        self.world.apply({**obj, "metadata": marks, "spec": {**obj["spec"], "suspend": True}})

    def work(self) -> Iterator[float]:
        while True:
            yield 0.5
            for resource in (RAYJOBS, RAYCLUSTERS):
                for obj in self.world.store.all(resource):
                    if (obj["metadata"].get("labels") or {}).get(QUEUE) and not obj["metadata"].get("deletionTimestamp"):
                        self.reconcile(resource, obj)

    def reconcile(self, resource: Resource, obj: Obj) -> None:
        place = (resource, key_of(obj))
        if place in self.evicting:
            if not is_active(resource, obj):
                self.evicting.discard(place)
                self.patch(place, self.kept.pop(place))
                self.admitted.remove(place)
        elif place in self.admitted:
            if is_finished(resource, obj):
                self.admitted.remove(place)
        elif obj["spec"].get("suspend") and len(self.admitted) < self.room and not is_finished(resource, obj):
            self.admit(place, obj)

    def admit(self, place: tuple[Resource, Key], obj: Obj) -> None:
        flavor = self.flavors[self.admissions % len(self.flavors)]
        self.admissions += 1
        self.admitted.append(place)
        self.kept[place] = templates(place[0], obj)
        self.patch(place, {**templates(place[0], obj, {"flavor": flavor}), "suspend": False})

    def evict(self, resource: Resource, key: Key) -> None:
        self.evicting.add((resource, key))
        self.patch((resource, key), {"suspend": True})

    def patch(self, place: tuple[Resource, Key], spec: Obj) -> None:
        resource, key = place
        self.world.store.do(Request(KUEUE, "patch", resource, *key, body={"spec": spec}))


def templates(resource: Resource, obj: Obj, selector: dict[str, str] | None = None) -> Obj:
    """The part of the spec that holds the Pod templates, with a node selector in each; without one as they are."""
    spec: Obj = copy.deepcopy(obj["spec"]["rayClusterSpec"] if resource == RAYJOBS else obj["spec"])
    groups = [spec["headGroupSpec"], *(spec.get("workerGroupSpecs") or ())]
    for group in groups:
        group["template"]["spec"]["nodeSelector"] = selector
    part = {name: spec[name] for name in ("headGroupSpec", "workerGroupSpecs") if name in spec}
    return {"rayClusterSpec": part} if resource == RAYJOBS else part


def is_active(resource: Resource, obj: Obj) -> bool:
    status = obj.get("status") or {}
    if resource == RAYJOBS:
        return status.get("jobDeploymentStatus", "") not in ("", "Suspended")
    return status.get("state") != "suspended"


def is_finished(resource: Resource, obj: Obj) -> bool:
    return resource == RAYJOBS and (obj.get("status") or {}).get("jobDeploymentStatus") in ("Complete", "Failed")


def flavors_of(world: World) -> set[Any]:
    """The node selectors of all Pods of Ray that are there."""
    return {(pod["spec"].get("nodeSelector") or {}).get("flavor") for pod in world.store.all(PODS)}
