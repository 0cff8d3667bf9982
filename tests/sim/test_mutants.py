"""Does the simulator bite? Every known fault, put back, must break the invariant that forbids it, or change how a story is told."""

from __future__ import annotations

import pytest

from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.sim import stores
from rayfleet.sim.end_state import unmet
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.judge import Violation
from rayfleet.sim.leader import Planner
from rayfleet.sim.scenarios import BY_NAME, NAME
from rayfleet.sim.storm import rush, storm
from rayfleet.sim.world import World
from tests.sim.mutants import MUTANTS, Mutant, Proof
from tests.sim.test_transcripts import GOLDEN, SEED

MOST_STORMS = 60
STORIES = {story.name: story for story in stores.STORIES}


def broken_by(mutant: Mutant, proof: Proof, seed: int) -> str:
    """The invariant that breaks first with this seed, "" when all hold."""
    with pytest.MonkeyPatch.context() as patch:
        planner = mutant(patch)
        try:
            return happened(proof, planner, seed)
        except Violation as violation:
            return str(violation).partition(":")[0]
        except Exception:
            return "raised"


def happened(proof: Proof, planner: Planner, seed: int) -> str:
    if proof.story or proof.scene:
        return told(planner, proof)
    if proof.rush:
        rush(seed, planner=planner)
    else:
        storm(seed, proof.leaders, planner=planner)
    return ""


def told(planner: Planner, proof: Proof) -> str:
    story = STORIES.get(proof.story) or BY_NAME.get(proof.story)
    world = World(SEED, planners={RAYCLUSTERS: planner}, config=getattr(story, "config", None))
    Invariants(world)
    try:
        if proof.scene:
            proof.scene(world)
            return ""
        assert story is not None
        text = story.run(world)
        if proof.invariant == "golden":
            kept = (GOLDEN / "stores" if proof.story in STORIES else GOLDEN) / f"{proof.story}.golden"
            return "" if text == kept.read_text() else "golden"
        return "L1" if unmet(world, NAME) else ""
    finally:
        world.close()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    runs = 1 if proof.story or proof.scene else MOST_STORMS
    found = (broken_by(mutant, proof, seed) for seed in range(proof.first, proof.first + runs))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"
