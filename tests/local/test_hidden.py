"""What a Pod sees of the fleet that runs it: nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet, container
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def state() -> Iterator[State]:
    """Not in /tmp, which every container has of its own."""
    with tempfile.TemporaryDirectory(prefix=".rayfleet-test-", dir=Path.home()) as directory:
        place = State(Path(directory) / "fleet")
        yield place
        assert end(place, forget=True).left == ()


def test_a_pod_sees_no_credentials_and_no_other_file_of_its_fleet(state: State) -> None:
    fleet = Fleet(state)
    fleet.up()
    assert (state.credentials / "tokens.json").exists()
    looks = container(["sh", "-c", f"find {state.path} -type f; ls {state.path}/credentials; echo looked"], readinessProbe=None)
    fleet.send("POST", PODS, {"metadata": {"name": "spy"}, "spec": {"restartPolicy": "Never", "containers": [looks]}})
    eventually(lambda: (fleet.read(f"{PODS}/spy") or {}).get("status", {}).get("phase") in ("Succeeded", "Failed"), 30.0, "it has looked")
    told = fleet.run("logs", "spy")
    assert told.splitlines()[-1] == "looked"
    assert not [line for line in told.splitlines() if line.startswith(str(state.path)) and "cannot" not in line]
    assert "tokens.json" not in told
