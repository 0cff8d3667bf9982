"""The holder: what it owns, what it starts, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rayfleet.local import leftovers
from rayfleet.local.find import find_holder
from rayfleet.local.identity import Identity
from rayfleet.local.namespaces import start_holder
from rayfleet.local.spawn import NotStarted, spawn
from rayfleet.local.state import State
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def run(state: State, script: str, name: str = "peer") -> Identity:
    return spawn(state, ["/bin/sh", "-c", script], ENVIRONMENT, state.log(name), state.peers / f"{name}.lock")


def holder_of(state: State) -> Identity:
    found = find_holder(state)
    assert found
    return found


def test_a_process_inside_sees_loopback_only_and_a_run_directory_of_its_own(held: State) -> None:
    run(held, "ls /sys/class/net /run; ip -br link; echo over")
    text = eventually(lambda: held.log("peer").read_text().rstrip().endswith("over") and held.log("peer").read_text())
    assert "netns" in text
    links = [line.split()[0] for line in text.splitlines() if "LOOPBACK" in line or "BROADCAST" in line]
    assert links == ["lo"]


def test_the_host_has_no_link_more_than_before(state: State) -> None:
    before = leftovers.links()
    state.make()
    start_holder(state)
    run(state, "ip link add rf0 type bridge; ip link add rfa type veth peer name rfb; echo made; sleep 1000")
    eventually(lambda: "made" in state.log("peer").read_text())
    assert leftovers.links() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_everything_inside_ends_with_the_holder(held: State, number: int) -> None:
    run(held, "trap '' TERM; unshare --pid --fork --mount sh -c \"trap '' TERM; sleep 1000\" & setsid sleep 1000 & wait")
    holder = holder_of(held)
    inside = eventually(lambda: (found := leftovers.members(holder)) and len(found) >= 5 and found)
    holder.signal(number)
    assert holder.wait(15.0)
    eventually(lambda: not leftovers.living(inside), what="all have ended")


def test_the_holder_ends_when_the_process_that_made_its_namespaces_is_killed(held: State) -> None:
    holder = holder_of(held)
    outer = leftovers.parent(holder)
    assert outer
    outer.signal(signal.SIGKILL)
    assert holder.wait(5.0)


def test_an_orphan_is_reaped_by_the_holder(held: State) -> None:
    run(held, "sh -c 'sleep 0.1 & echo $! > orphan' & wait; while [ -d /proc/$(cat orphan) ]; do sleep 0.05; done; echo reaped")
    eventually(lambda: "reaped" in held.log("peer").read_text())


def test_the_pid_told_is_the_one_that_the_host_sees(held: State) -> None:
    process = run(held, "exec sleep 1000")
    eventually(lambda: "sleep" in Path(f"/proc/{process.pid}/cmdline").read_text())
    assert process in leftovers.members(holder_of(held))


def test_a_program_that_is_not_there_is_named(held: State) -> None:
    with pytest.raises(NotStarted, match=r"/no/such.*No such file"):
        spawn(held, ["/no/such"], ENVIRONMENT, held.log("peer"), held.peers / "peer.lock")


def test_one_peer_of_a_name_at_a_time(held: State) -> None:
    first = run(held, "exec sleep 1000")
    with pytest.raises(NotStarted, match="another one runs already"):
        run(held, "exec sleep 1000")
    first.signal(signal.SIGKILL)
    first.wait(5.0)
    assert run(held, "exec sleep 1000").alive


def test_without_a_holder_nothing_is_started(state: State) -> None:
    state.make()
    with pytest.raises(NotStarted, match="the holder does not answer"):
        run(state, "true")


def test_a_request_that_is_none_is_survived(held: State) -> None:
    from rayfleet.local.spawn import reach

    for words in (b"", b"nonsense\n", b"{}\n", b'{"argv": 1}\n'):
        with reach(held.path / "holder.sock") as connection:
            connection.sendall(words)
    assert run(held, "exec sleep 1000").alive


def test_a_path_longer_than_a_sockets_may_be_is_no_hindrance(tmp_path: Path) -> None:
    state = State(tmp_path / ("long" * 30))
    state.make()
    _, holder = start_holder(state)
    try:
        assert find_holder(state) == holder
    finally:
        holder.signal(signal.SIGTERM)
        holder.wait(10.0)


def test_the_holders_socket_is_the_owners_alone(held: State) -> None:
    assert (held.path / "holder.sock").stat().st_mode & 0o777 == 0o600
    assert held.path.stat().st_mode & 0o777 == 0o700
    assert held.path.stat().st_uid == os.geteuid()
