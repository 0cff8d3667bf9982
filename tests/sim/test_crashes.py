"""The operator killed at every request of every story, before it leaves or after it is committed; every answer lost, every refusal. The end
is the same."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.sim.end_state import picture, unmet
from rayfleet.sim.faults import KINDS
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.scenarios import NAME, SCENARIOS, Scenario
from rayfleet.sim.world import World

PATIENCE = 300.0


def end_of(scenario: Scenario, at: tuple[int, str] | None) -> tuple[Any, int]:
    """What is there in the end, and how many requests it took."""
    world = World(1)
    world.faults.at = at
    Invariants(world)
    try:
        scenario.run(world)
        waited = 0.0
        while unmet(world, NAME) and waited < PATIENCE:
            world.run(10.0)
            waited += 10.0
        assert unmet(world, NAME) == []
        return picture(world, NAME), world.faults.requests
    finally:
        world.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_one_fault_at_any_request_changes_nothing_in_the_end(scenario: Scenario, kind: str) -> None:
    wanted, requests = end_of(scenario, None)
    for number in range(1, requests + 1):
        found, _ = end_of(scenario, (number, kind))
        assert found == wanted, f"{kind} at request {number} of {requests}"
