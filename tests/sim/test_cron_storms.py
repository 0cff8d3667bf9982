"""Random RayCronJobs under random faults: no tick is doubled, policies and limits are kept, and in the end it ticks in time.

More of them: `python -m rayfleet.sim.many 1000 0 1112 cronjobs`.
"""

from __future__ import annotations

import pytest

from rayfleet.api.meta import RAYCRONJOBS
from rayfleet.sim.cron_storm import storm
from rayfleet.sim.judge import Violation
from tests.sim.mutants.crons import MUTANTS, Mutant

MOST_STORMS = 20


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_double_no_tick_and_end_in_time(leaders: int) -> None:
    for seed in range(8):
        storm(seed, leaders)


def broken_by(mutant: Mutant, seed: int) -> str:
    """The invariant that breaks first with this seed, "" when all hold."""
    with pytest.MonkeyPatch.context() as patch:
        planner = mutant(patch)
        try:
            storm(seed, planners={RAYCRONJOBS: planner} if planner else None)
        except Violation as violation:
            return str(violation).partition(":")[0]
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    found = (broken_by(mutant, seed) for seed in range(proof.first, proof.first + MOST_STORMS))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"
