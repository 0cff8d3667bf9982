"""Random RayCronJobs under random faults: no tick is doubled, policies and limits are kept, and in the end it ticks in time.

More of them: `python -m rayfleet.sim.many 1000 0 1112 cronjobs`.
"""

from __future__ import annotations

from functools import partial

import pytest

from rayfleet.api.meta import RAYCRONJOBS
from rayfleet.sim.cron_storm import storm
from rayfleet.sim.leader import Planner
from tests.sim.mutants.crons import MUTANTS, Mutant
from tests.sim.mutants.verdict import broken_by

MOST_STORMS = 20


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_double_no_tick_and_end_in_time(leaders: int) -> None:
    for seed in range(8):
        storm(seed, leaders)


def run(seed: int, planner: Planner | None) -> None:
    storm(seed, planners={RAYCRONJOBS: planner} if planner else None)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    found = (broken_by(mutant, partial(run, seed)) for seed in range(proof.first, proof.first + MOST_STORMS))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"
