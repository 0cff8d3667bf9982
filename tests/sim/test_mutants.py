"""Does the simulator bite? Every known fault, put back, must break the invariant that forbids it."""

from __future__ import annotations

import pytest

from rayfleet.sim.invariants import Invariants, Violation
from rayfleet.sim.leader import Planner
from rayfleet.sim.scenarios import BY_NAME
from rayfleet.sim.storm import rush, storm
from rayfleet.sim.world import World
from tests.sim.mutants import MUTANTS, Mutant, Proof

MOST_STORMS = 60


def broken_by(mutant: Mutant, proof: Proof, seed: int) -> str:
    """The invariant that breaks first with this seed, "" when all hold."""
    with pytest.MonkeyPatch.context() as patch:
        planner = mutant(patch)
        try:
            if proof.rush:
                rush(seed, planner=planner)
            elif proof.story:
                told(planner, proof.story, seed)
            else:
                storm(seed, proof.leaders, planner=planner)
        except Violation as violation:
            return str(violation).partition(":")[0]
    return ""


def told(planner: Planner, story: str, seed: int) -> None:
    world = World(seed, planner=planner)
    Invariants(world)
    try:
        BY_NAME[story].run(world)
    finally:
        world.close()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    found = (broken_by(mutant, proof, seed) for seed in range(MOST_STORMS))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"
