"""Random services under random faults. The invariants hold after every write; then silence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rayfleet.rayservice import clusters, generations, incremental, plan, serve, steps, traffic
from rayfleet.sim.service_shop import Broken
from rayfleet.sim.service_storm import FAULTS, WRITES, storm

SEEDS, MANY = 20, 40  # a mistake may need a rare storm


def test_storms_end_and_every_fault_and_every_write_occurred() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        seen += storm(seed)
    assert {*FAULTS, *WRITES} - seen.keys() == set()


def test_the_same_seed_gives_the_same_storm() -> None:
    assert storm(7) == storm(7)


def old_cluster_is_told(observed: Any, service: Any) -> Any:
    """The config goes to the active cluster, also while another one is to take its place (k#4717)."""
    found = clusters.roles(observed, service)
    return clusters.Roles(found.active, found.active or found.goal, found.unused)


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "traffic moves as soon as one application runs (k#1559)": (traffic, "runs_all", lambda member, config: True),
    "the config is sent to the old cluster (k#4717)": (plan, "roles", old_cluster_is_told),
    "a third cluster is made while two live": (generations, "has_room", lambda observed: True),
    "apps are not sent again after the head was lost (k#1420)": (serve, "reports", lambda details, config, just=False: True),
    "the old cluster is never deleted (k#2374)": (generations, "left", lambda observed, service, since: 1.0),
    "the first cluster is taken for the newest (k#4989)": (clusters, "is_made_for", lambda cluster, spec: True),
    "a step is taken before the new cluster serves": (steps, "runs_all", lambda member, config: True),
    "the old cluster is told the new config with its capacity (k#4189)": (plan, "resized", serve.deployment),
    "an upgrade that has moved everything is not ended": (incremental, "is_over", lambda stand: False),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_known_mistakes_are_found(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    module, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(module, name, wrong)
    with pytest.raises((Broken, AssertionError)):
        for seed in range(MANY):
            storm(seed)
