"""The door and the relay: the only way in, and who keeps the peers alive."""

from __future__ import annotations

import json
import signal
import ssl
import urllib.error
import urllib.request

import pytest

from rayfleet.local.credentials import token_of
from rayfleet.local.door import Record
from rayfleet.local.find import find_door, find_holder
from rayfleet.local.identity import Identity
from rayfleet.local.peers import load_record
from rayfleet.local.start import start
from rayfleet.local.state import State
from tests.local.same_port import is_same_port
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces


@pytest.fixture
def door(state: State) -> Record:
    return start(state, print)


def ask(state: State, port: int, path: str, token: str | None) -> int:
    """The HTTP code; 0 when nobody answers (yet)."""
    context = ssl.create_default_context(cafile=str(state.credentials / "ca.crt"))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code
    except OSError:
        return 0


def peer(state: State, name: str) -> Identity | None:
    record = load_record(state, name)
    return record.process if record and record.process.alive else None


def test_the_api_answers_through_the_door_to_who_has_a_token(state: State, door: Record) -> None:
    admin = token_of(state, "admin")
    assert eventually(lambda: ask(state, door.port, "/api/v1/namespaces", admin)) == 200
    assert ask(state, door.port, "/api/v1/namespaces", None) == 401
    assert ask(state, door.port, "/api/v1/namespaces", "guess") == 401


def test_the_kubeconfig_is_the_owners_alone_and_stands_alone(state: State, door: Record) -> None:
    config = json.loads(state.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{door.port}"
    for path in (state.kubeconfig, *state.credentials.iterdir(), state.path / "relay.sock", state.path / "holder.sock"):
        if path.exists():
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("name", ["relay", "apiserver"])
def test_a_peer_that_dies_comes_back_and_the_api_answers_again(state: State, door: Record, name: str, number: int) -> None:
    admin = token_of(state, "admin")
    eventually(lambda: ask(state, door.port, "/readyz", admin) == 200)
    before, holder = peer(state, name), find_holder(state)
    assert before
    before.signal(number)
    assert before.wait(10.0)
    after = eventually(lambda: peer(state, name))
    assert after != before
    eventually(lambda: ask(state, door.port, "/readyz", admin) == 200)
    assert find_holder(state) == holder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_door_that_dies_leaves_the_peers_and_the_next_one_takes_them_over(state: State, door: Record, number: int) -> None:
    admin = token_of(state, "admin")
    eventually(lambda: ask(state, door.port, "/readyz", admin) == 200)
    before = {name: peer(state, name) for name in ("relay", "apiserver")}
    door.process.signal(number)
    assert door.process.wait(10.0)
    assert find_door(state) is None
    again = start(state, print)
    assert again.process != door.process
    assert is_same_port(door.port, again.port)
    eventually(lambda: ask(state, door.port, "/readyz", admin) == 200)
    assert {name: peer(state, name) for name in before} == before


def test_the_door_closes_when_the_fleet_has_ended(state: State, door: Record) -> None:
    holder = find_holder(state)
    assert holder
    holder.signal(signal.SIGKILL)
    assert door.process.wait(10.0)
