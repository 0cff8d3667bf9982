"""Random clusters under random faults, with one operator and with two at once. The invariants hold after every write; then silence."""

from __future__ import annotations

import pytest

from rayfleet.sim import chaos, faults
from rayfleet.sim.storm import rush, storm
from tests.sim.conftest import Totals

SEEDS = 250
PORTION = 25
ACTIONS = {"create Pod", "create Service", "delete Pod", "delete Service", "patch Service", "patch RayCluster", "patch status"}


@pytest.mark.parametrize("leaders", [1, 2])
@pytest.mark.parametrize("first", range(0, SEEDS, PORTION))
def test_storms_end_in_the_desired_state_and_in_silence(first: int, leaders: int, totals: Totals) -> None:
    for seed in range(first, first + PORTION):
        totals.add(storm(seed, leaders))


def test_every_fault_and_every_action_occurred(totals: Totals) -> None:
    if totals.storms < 2 * SEEDS:
        pytest.skip("only some of the storms were run")
    fates = {f"pod {fate}" for fate in ("ready", "fails", "exits", "pending")}
    wanted = {*faults.KINDS, *chaos.ACTS, "quota refusal", *fates}
    assert wanted - totals.faults.keys() == set()
    assert ACTIONS - totals.actions.keys() == set()


@pytest.mark.parametrize("seed", range(30))
def test_two_slow_operators_are_not_in_each_others_way(seed: int) -> None:
    rush(seed)


@pytest.mark.parametrize("leaders", [1, 2])
@pytest.mark.parametrize("seed", [3, 14, 159])
def test_the_same_seed_gives_the_same_storm(seed: int, leaders: int) -> None:
    assert storm(seed, leaders).trace == storm(seed, leaders).trace
