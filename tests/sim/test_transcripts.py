"""The decisions as stories: a change of the core shows as a diff of tests/transcripts/*.golden."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.sim.end_state import picture, unmet
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.leader import Pace
from rayfleet.sim.scenarios import NAME, SCENARIOS, Scenario
from rayfleet.sim.world import World
from tests.golden import recorded

GOLDEN = Path(__file__).parent.parent / "transcripts"
SEED = 1
DISTURBED = Pace(lag=lambda dice: dice.uniform(0.0, 0.5), latency=lambda dice: dice.uniform(0.0, 0.1), skipped=0.3, repeated=0.3)

each_story = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def run(scenario: Scenario, world: World) -> str:
    """The story. Invariants hold all the while, and the cluster is at rest as wanted in the end."""
    Invariants(world)
    try:
        text = scenario.run(world)
        assert unmet(world, NAME) == []
    finally:
        world.close()
    return text


@each_story
def test_the_story_is_the_recorded_one(scenario: Scenario) -> None:
    text = run(scenario, World(SEED))
    assert text.splitlines() == recorded(GOLDEN / f"{scenario.name}.golden", text).splitlines()


def test_every_recorded_story_is_still_told() -> None:
    assert {path.stem for path in GOLDEN.glob("*.golden")} == {scenario.name for scenario in SCENARIOS}


@each_story
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_disturbed_order_comes_to_the_same_end(scenario: Scenario, seed: int) -> None:
    """Three of ten looks are skipped, three of ten come twice, news and answers come late."""
    calm, disturbed = World(SEED), World(seed, pace=DISTURBED)
    run(scenario, calm)
    run(scenario, disturbed)
    assert picture(disturbed, NAME) == picture(calm, NAME)


@each_story
def test_the_same_seed_gives_the_same_requests(scenario: Scenario) -> None:
    worlds = [World(SEED, pace=DISTURBED) for _ in range(2)]
    for world in worlds:
        run(scenario, world)
    assert worlds[0].trace == worlds[1].trace
