"""The wall clock of an operator's machine is set forth or back: nobody waits for longer, and no time in a status goes backwards."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.sim.end_state import unmet
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.scenarios import head, limit_pods, remove
from rayfleet.sim.world import World

HOUR, YEAR = 3600.0, 365 * 86400.0


@pytest.mark.parametrize("step", [-YEAR, -HOUR, HOUR, YEAR])
def test_a_refused_create_is_tried_again_in_time_whatever_the_clock_does(world: World, step: float) -> None:
    leader = world.lead()
    limit_pods(2)(world)
    leader.clock.error += step
    world.apply(cluster("demo", group("small", 3)))
    world.run(60.0)
    leader.clock.error -= step
    world.run(60.0)
    limit_pods(10)(world)
    world.run(300.0)
    assert unmet(world, "demo") == []


@pytest.mark.parametrize("step", [-YEAR, -HOUR])
def test_no_time_in_a_status_goes_backwards(world: World, step: float) -> None:
    leader = world.lead()
    world.apply(cluster("demo", group("small", 1)))
    world.run(60.0)
    before = times(world)
    leader.clock.error += step
    remove(head)(world)
    world.run(60.0)
    assert unmet(world, "demo") == []
    after = times(world)
    assert before.keys() == after.keys() and all(after[name] >= before[name] for name in before)


def times(world: World) -> dict[str, str]:
    status: dict[str, Any] = (world.cluster("demo") or {})["status"]
    flips = {condition["type"]: condition["lastTransitionTime"] for condition in status["conditions"]}
    return {"lastUpdateTime": status["lastUpdateTime"], **flips, **status["stateTransitionTimes"]}
