"""Real Ray in a fleet as `rayfleet up` makes it by default: nobody without the token is let in, and the token is told to whoever asks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.cli.ray_job import Outcome, run_job
from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet
from tests.local.ray import group, ray_cluster
from tests.local.test_ray import WHERE

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

NAME = "real"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(State(tmp_path_factory.mktemp("tokens") / "fleet"), auth="token")
    try:
        fleet.up()
        yield fleet
    finally:
        assert end(fleet.state).left == ()


@pytest.fixture(scope="module")
def told(fleet: Fleet) -> str:
    """What `up` says of the cluster once it is ready."""
    file = fleet.state.path.parent / "real.json"
    file.write_text(json.dumps(ray_cluster(NAME, group("small", replicas=2))))
    return fleet.up("-f", str(file))


def job(fleet: Fleet, token: str) -> Outcome:
    return run_job(fleet.dashboard(f"{NAME}-head-svc"), shlex.join(["python", "-c", WHERE]), token=token)


def test_up_says_how_to_log_in_and_not_the_token(fleet: Fleet, told: str) -> None:
    token = fleet.run("token", NAME).strip()
    assert f"rayfleet token {NAME}" in told
    assert len(token) >= 40
    assert token not in told


@pytest.mark.parametrize(("token", "code"), [("", 401), ("wrong", 403)])
def test_a_job_without_the_token_is_refused(fleet: Fleet, told: str, token: str, code: int) -> None:
    with pytest.raises(OSError, match=f"answered {code}"):
        job(fleet, token)


def test_with_the_token_it_runs_on_all_pods(fleet: Fleet, told: str) -> None:
    outcome = job(fleet, fleet.run("token", NAME).strip())
    assert outcome.status == "SUCCEEDED", outcome
    assert set(next(line for line in outcome.log.splitlines() if line.startswith("HOSTS")).split()[1:]) == fleet.pods(NAME).keys()


def test_the_monitors_log_is_shown_to_who_may_read_the_secret(fleet: Fleet, told: str) -> None:
    assert "INFO" in fleet.run("logs", f"raycluster/{NAME}", "--monitor", "--tail", "5")


def test_the_token_stands_in_no_log_and_in_no_argument(fleet: Fleet, told: str) -> None:
    """But in the environment of Ray's own processes, where Ray wants it."""
    token = fleet.run("token", NAME).strip().encode()
    logs = list((fleet.state.path / "logs").iterdir())
    assert len(logs) >= 4
    assert [log.name for log in logs if token in log.read_bytes()] == []
    found = [each for process in fleet.inside() for each in command_line(process.pid).split(b"\0") if token in each]
    assert found == []


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
