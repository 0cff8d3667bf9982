"""What the API refuses for hours is asked for seldom, said once, and done as soon as it is granted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from rayfleet.api import labels
from rayfleet.api.meta import PODS, SERVICES, Key
from rayfleet.kube.errors import ApiError
from rayfleet.sim.end_state import unmet
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Change, Request
from rayfleet.sim.world import NAMESPACE, OPERATOR, World

HOUR = 3600.0
FIRST_HOUR, LATER_HOUR = 30, 13


class Asked:
    """How often an operator asked for each thing."""

    def __init__(self, world: World) -> None:
        self.counts: Counter[str] = Counter()
        world.store.auditors.append(self.hear)

    def hear(self, request: Request, change: Change | None, error: ApiError | None) -> None:
        if request.actor.startswith(OPERATOR):
            self.counts[str(request)] += 1

    def most(self) -> int:
        found = max(self.counts.values(), default=0)
        self.counts.clear()
        return found


def evict_worker(world: World) -> None:
    workers = [pod for pod in world.pods("demo") if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.WORKER]
    world.nodes.fail(workers[0], "Evicted")


def delete_worker(world: World) -> None:
    workers = [pod for pod in world.pods("demo") if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.WORKER]
    world.user("delete", PODS, key_of(workers[0]))


def evict_head(world: World) -> None:
    heads = [pod for pod in world.pods("demo") if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD]
    world.nodes.fail(heads[0], "Evicted")


def scale_down(world: World) -> None:
    world.edit("demo", {"workerGroupSpecs": [group("small", 1)]})


def scale_up(world: World) -> None:
    world.edit("demo", {"workerGroupSpecs": [group("small", 4)]})


def edit_selector(world: World) -> None:
    world.user("patch", SERVICES, Key(NAMESPACE, "demo-head-svc"), body={"spec": {"selector": {labels.CLUSTER: "other"}}})


def delete_service(world: World) -> None:
    world.delete(SERVICES, "demo-head-svc")


REFUSED = [
    ("create", "pods", scale_up),
    ("create", "pods", evict_head),
    ("create", "services", delete_service),
    ("patch", "services", edit_selector),
    ("delete", "pods", scale_down),
    ("delete", "pods", evict_worker),
    ("delete", "pods", evict_head),
    ("patch", "rayclusters", scale_down),
    ("patch", "rayclusters", delete_worker),
    ("patch", "status", scale_up),
]


@pytest.mark.parametrize("kind", ["forbidden", "server-error", "timeout"])
@pytest.mark.parametrize(("verb", "what", "act"), REFUSED, ids=lambda value: getattr(value, "__name__", value))
def test_refused_for_hours(verb: str, what: str, act: Callable[[World], None], kind: str) -> None:
    world = World(1)
    Invariants(world)
    asked = Asked(world)
    world.lead()
    try:
        world.apply(cluster("demo", group("small", 2)))
        world.run(60.0)
        asked.most()
        world.faults.always = {(verb, what): kind}
        act(world)
        world.run(HOUR)
        assert asked.most() <= FIRST_HOUR
        world.run(HOUR)
        assert asked.most() <= LATER_HOUR
        world.faults.stop()
        world.run(2 * 300.0)
        assert unmet(world, "demo") == []
    finally:
        world.close()
