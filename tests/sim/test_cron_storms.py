"""Random RayCronJobs under random faults: no tick is doubled, policies and limits are kept, and in the end it ticks in time.

More of them: `python -m rayfleet.sim.many 1000 0 1112 cronjobs`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from rayfleet.api.meta import RAYCRONJOBS
from rayfleet.planning.actions import Create
from rayfleet.planning.plan import Plan
from rayfleet.raycronjob import plan as core
from rayfleet.raycronjob.observed import Observed
from rayfleet.sim.cron_storm import storm
from rayfleet.sim.judge import Violation


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_double_no_tick_and_end_in_time(leaders: int) -> None:
    for seed in range(8):
        storm(seed, leaders)


def test_a_tick_that_is_doubled_is_found() -> None:
    """KubeRay #4888: a job of the same tick under another name."""

    def twice(observed: Observed) -> Plan:
        found = core.plan(observed)
        more = [again(each) for each in found.actions if isinstance(each, Create)]
        return replace(found, actions=(*found.actions, *more))

    def again(action: Create) -> Create:
        name = f"{action.name}-again"
        return replace(action, name=name, manifest={**action.manifest, "metadata": {**action.manifest["metadata"], "name": name}})

    with pytest.raises(Violation, match="C1"):
        storm(0, planners={RAYCRONJOBS: twice})
