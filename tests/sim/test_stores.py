"""State that outlives the head, as stories: what is to go goes, whatever gets in the way; also with a fault at every write."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.sim.end_state import unmet
from rayfleet.sim.faults import KINDS
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.leader import Pace
from rayfleet.sim.scenarios import NAME
from rayfleet.sim.stores import STORIES, Story, left_over
from rayfleet.sim.world import World
from tests.golden import recorded
from tests.sim.test_transcripts import DISTURBED

GOLDEN = Path(__file__).parent.parent / "transcripts" / "stores"
PATIENCE = 400.0

each_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


def remaining(story: Story, world: World) -> list[str]:
    return left_over(world) if story.gone else unmet(world, NAME)


def run(story: Story, seed: int = 1, *, pace: Pace | None = None, at: tuple[int, str] | None = None) -> tuple[str, int]:
    """The story, and how many writes it took."""
    world = World(seed, pace=pace, config=story.config)
    world.faults.at = at
    Invariants(world)
    try:
        text = story.run(world)
        waited = 0.0
        while remaining(story, world) and waited < PATIENCE:
            world.run(10.0)
            waited += 10.0
        assert remaining(story, world) == []
        return text, world.faults.requests
    finally:
        world.close()


@each_story
def test_the_story_is_the_recorded_one(story: Story) -> None:
    text, _ = run(story)
    assert text.splitlines() == recorded(GOLDEN / f"{story.name}.golden", text).splitlines()


def test_every_recorded_story_is_still_told() -> None:
    assert {path.stem for path in GOLDEN.glob("*.golden")} == {story.name for story in STORIES}


@each_story
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_disturbed_order_comes_to_the_same_end(story: Story, seed: int) -> None:
    run(story, seed, pace=DISTURBED)


@each_story
@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_at_any_write_changes_nothing_in_the_end(story: Story, kind: str) -> None:
    _, writes = run(story)
    for number in range(1, writes + 1):
        run(story, at=(number, kind))
