"""The Job that empties Redis after a cluster was deleted is the one that the peer was recorded to send."""

from __future__ import annotations

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.planning.actions import Create
from rayfleet.sim.ideal import next_steps
from tests.parity.compare import compared, grouped
from tests.parity.named import unnamed
from tests.parity.recording import names, recording

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [labels.REDIS_FINALIZER]}
NOW = 1_767_225_601.0  # a second later


@pytest.mark.parametrize("name", [name for name in names() if recording(name).jobs])
def test_the_clean_up_job_is_the_recorded_one(name: str) -> None:
    case = recording(name)
    deleted = {**case.cluster, "metadata": {**case.cluster["metadata"], **DELETED}}
    sent = [dict(action.manifest) for action in next_steps(deleted, Configuration(), NOW).plan.actions if isinstance(action, Create)]
    assert unnamed(name, list(compared(case.jobs, grouped(sent, "demo")))) == []
