"""Random RayServices under random faults, with one operator and with two at once. The invariants hold after every write; then silence.

More of them, and what must occur in all: `python -m rayfleet.sim.many 5000 0 1112 services`.
"""

from __future__ import annotations

from functools import partial

import pytest

from rayfleet.api.meta import RAYSERVICES
from rayfleet.sim.leader import Planner
from rayfleet.sim.serve_storm import storm
from tests.sim.mutants.services import MUTANTS, Mutant
from tests.sim.mutants.verdict import broken_by

MOST_STORMS = 25


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_end_with_one_cluster_that_serves_and_in_silence(leaders: int) -> None:
    for seed in range(12):
        storm(seed, leaders)


def test_the_same_seed_gives_the_same_storm() -> None:
    assert storm(7, 2).trace == storm(7, 2).trace


def test_two_operators_do_not_undo_a_head_s_label_by_what_they_heard_before_it_had_it() -> None:
    """The second one had heard nobody there, and took the last endpoint away when the first one had led requests to it."""
    storm(7071, 2)


def run(seed: int, leaders: int, planner: Planner | None) -> None:
    storm(seed, leaders, planners={RAYSERVICES: planner} if planner else None)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    found = (broken_by(mutant, partial(run, seed, proof.leaders)) for seed in range(proof.first, proof.first + MOST_STORMS))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"
