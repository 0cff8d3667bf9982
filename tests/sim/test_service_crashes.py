"""The operator killed at every request of a service's life, to the API and to Ray, before it leaves or after it is taken; every answer
lost. No cluster more is made, no request of the service's users is lost, and in the end it serves what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.serve_chaos import CONFIGS, revision
from rayfleet.sim.serve_rules import ServeRules
from rayfleet.sim.serve_storm import KINDS, NAME, found_service, service, unmet
from rayfleet.sim.service_specs import incremental
from rayfleet.sim.shop_front import ShopFront
from rayfleet.sim.world import World

PATIENCE = 600.0
FAULTS = ("crash-before", "crash-after", "lost-response")
"""Of `faults.KINDS`; the storms have the others, which end with an answer."""


class ServeWorld(World):
    """Its heads answer 2 s after they run, its applications run a second later, and it is asked all the time."""

    def __init__(self) -> None:
        super().__init__(1, kinds=KINDS, config=Configuration())
        Invariants(self)
        self.front = ShopFront(self)
        self.rules = ServeRules(self, self.front)
        self.rays.boot = lambda dice: 2.0
        self.rays.serve.deploys = 1.0
        self.clock.spawn(self.front.open())
        self.clock.spawn(self.rules.customer(NAME))
        self.made: list[str] = []
        self.store.watchers.append(self.hear)

    def hear(self, change: Any) -> None:
        if change.resource == RAYCLUSTERS and change.type == "ADDED":
            self.made.append(change.new["metadata"]["name"])

    def begin(self, **spec: Any) -> None:
        self.apply(service(rayClusterDeletionDelaySeconds=5, **spec))
        self.serve()

    def change(self, **spec: Any) -> None:
        self.edit(NAME, spec, RAYSERVICES)

    def serve(self) -> None:
        """Until it does, as its spec is now."""
        waited = 0.0
        while left := list(unmet(self, self.front)):
            assert waited < PATIENCE, left
            self.run(5.0)
            waited += 5.0


def upgraded(world: ServeWorld) -> None:
    world.begin()
    world.change(rayClusterConfig=revision("2"), serveConfigV2=CONFIGS[1])
    world.serve()


def step_by_step(world: ServeWorld) -> None:
    world.begin(rayClusterConfig=revision(None, enableInTreeAutoscaling=True), upgradeStrategy=incremental(100, 50, 2))
    world.change(rayClusterConfig=revision("2", enableInTreeAutoscaling=True))
    world.serve()


def suspended(world: ServeWorld) -> None:
    world.begin()
    world.change(suspend=True)
    world.run(30.0)
    world.change(suspend=False)
    world.serve()


def deleted(world: ServeWorld) -> None:
    world.begin()
    world.delete(RAYSERVICES, NAME)
    waited = 0.0
    while found_service(world) or world.store.all(RAYCLUSTERS):
        assert waited < PATIENCE, "it is not released"
        world.run(5.0)
        waited += 5.0


STORIES: dict[str, Callable[[ServeWorld], None]] = {each.__name__: each for each in (upgraded, step_by_step, suspended, deleted)}


def end_of(story: Callable[[ServeWorld], None], at: tuple[int, str] | None) -> tuple[list[str], int]:
    """The clusters that were ever made, and how many requests it took."""
    world = ServeWorld()
    world.faults.at = at
    try:
        world.lead()
        story(world)
        return world.made, world.faults.requests
    finally:
        world.close()


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("story", STORIES)
def test_one_fault_at_any_request_makes_no_further_cluster_and_loses_nothing(story: str, kind: str) -> None:
    wanted, requests = end_of(STORIES[story], None)
    for number in range(1, requests + 1):
        found, _ = end_of(STORIES[story], (number, kind))
        assert found == wanted, f"{kind} at request {number} of {requests}"
