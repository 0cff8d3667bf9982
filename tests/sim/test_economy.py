"""How many writes a calm story takes, and that a poisoned object costs the others nothing."""

from __future__ import annotations

import pytest

from rayfleet.sim.end_state import unmet
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.manifests import FAULTY_GROUPS, cluster, group
from rayfleet.sim.scenarios import BY_NAME
from rayfleet.sim.world import World

# Children made, patched and deleted, fences, and status writes of which each has a meaning of its own. A later figure may only be lower.
MOST_WRITES = {"create": 5, "scale": 11, "suspend": 13, "head-lost": 9}


@pytest.mark.parametrize("name", MOST_WRITES)
def test_a_calm_story_takes_few_writes(name: str) -> None:
    world = World(1)
    rules = Invariants(world)
    try:
        BY_NAME[name].run(world)
        assert rules.writes <= MOST_WRITES[name]
    finally:
        world.close()


def test_two_hours_at_rest_cost_nothing() -> None:
    world = World(1)
    rules = Invariants(world)
    world.lead()
    try:
        for number in range(20):
            world.apply(cluster(f"demo{number}", group("small", 2)))
        world.run(120.0)
        assert [unmet(world, f"demo{number}") for number in range(20)] == [[]] * 20
        writes = rules.writes
        world.run(2 * 3600.0)
        assert rules.writes == writes
    finally:
        world.close()


def test_refused_specs_leave_other_clusters_alone() -> None:
    """Neither touched nor late: ready as soon as without them."""
    ready = []
    for poisoned in (False, True):
        world = World(1)
        Invariants(world)
        world.lead()
        try:
            for number, groups in enumerate(FAULTY_GROUPS if poisoned else ()):
                world.apply(cluster(f"bad{number}", *groups))
            world.apply(cluster("demo", group("small", 2)))
            while unmet(world, "demo"):
                world.run(0.5)
            ready.append(world.clock.elapsed)
            for number in range(len(FAULTY_GROUPS) if poisoned else 0):
                told = world.cluster(f"bad{number}") or {}
                assert {each["type"]: each["status"] for each in told["status"]["conditions"]}["Valid"] == "False"
                assert world.pods(f"bad{number}") == []
        finally:
            world.close()
    assert ready[1] <= ready[0]
