"""Random RayServices under random faults, with one operator and with two at once. The invariants hold after every write; then silence.

More of them, and what must occur in all: `python -m rayfleet.sim.many 5000 0 1112 services`.
"""

from __future__ import annotations

import pytest

from rayfleet.sim.serve_storm import storm


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_end_with_one_cluster_that_serves_and_in_silence(leaders: int) -> None:
    for seed in range(12):
        storm(seed, leaders)


def test_the_same_seed_gives_the_same_storm() -> None:
    assert storm(7, 2).trace == storm(7, 2).trace
