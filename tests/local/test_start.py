"""`up` at its core: one fleet a directory, whatever was there before."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rayfleet.local import door, leftovers, namespaces
from rayfleet.local.end import end
from rayfleet.local.find import find_door, find_holder
from rayfleet.local.identity import Identity, boot, identify
from rayfleet.local.namespaces import HostLacks
from rayfleet.local.ports import FIRST
from rayfleet.local.start import NotUp, start
from rayfleet.local.state import State
from tests.local.same_port import is_same_port
from tests.local.waiting import eventually

START = """
import pathlib, sys
from rayfleet.local.start import start
from rayfleet.local.state import State
start(State(pathlib.Path(sys.argv[1])), print)
"""


@pytest.mark.namespaces
def test_two_at_once_make_one_fleet(state: State) -> None:
    starters = [subprocess.Popen([sys.executable, "-c", START, str(state.path)], stdout=subprocess.PIPE) for _ in range(3)]
    for starter in starters:
        starter.communicate()
        assert starter.returncode == 0
    holder = find_holder(state)
    assert holder
    everybody = [pid for pid in leftovers.processes() if belongs(pid, state)]
    doors = [pid for pid in everybody if "internal\0door" in command_line(pid)]
    holders = [pid for pid in everybody if "holder.py" in command_line(pid) and pid == holder.pid]
    assert (len(doors), len(holders)) == (1, 1)


@pytest.mark.namespaces
def test_a_second_start_leaves_everything_as_it_is(state: State) -> None:
    first = start(state, print)
    holder = find_holder(state)
    assert start(state, print) == first
    assert find_holder(state) == holder


@pytest.mark.namespaces
def test_a_directory_whose_fleet_was_killed_is_cleared_and_used_again(state: State) -> None:
    told: list[str] = []
    first = start(state, told.append)
    holder = find_holder(state)
    assert holder
    eventually(lambda: (state.objects / "state.sqlite").exists())
    authority = (state.credentials / "ca.crt").read_text()
    first.process.signal(signal.SIGKILL)
    holder.signal(signal.SIGKILL)
    holder.wait(5.0)
    again = start(state, told.append)
    assert any("no more" in line for line in told)
    assert is_same_port(first.port, again.port)
    assert (state.credentials / "ca.crt").read_text() == authority


@pytest.mark.namespaces
def test_a_pid_that_was_given_away_again_is_not_taken_for_the_door(state: State) -> None:
    own = identify(os.getpid())
    assert own
    for stale in (Identity(own.pid, own.start - 1, own.boot), Identity(own.pid, own.start, "another boot")):
        state.make()
        state.write(door.record_path(state), msgspec.json.encode(door.Record(stale, 1)).decode())
        assert find_door(state) is None
        start(state, print)
        assert identify(os.getpid()) == own
        end(state)


@pytest.mark.namespaces
def test_a_port_in_use_is_left_alone_and_another_one_is_named(state: State) -> None:
    told: list[str] = []
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", FIRST["api"]))
            taken.listen()
        except OSError:
            pass  # somebody else has it: as good
        record = start(state, told.append)
    assert record.port != FIRST["api"]
    assert f"port {record.port}" in " ".join(told)


@pytest.mark.namespaces
def test_a_door_that_cannot_open_is_told_with_its_log(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    state.make()
    state.write(state.ports, "no json")
    with pytest.raises(NotUp, match=r"door\.log"):
        start(state, print)


def test_a_state_directory_below_run_is_refused() -> None:
    with pytest.raises(NotUp, match="/run"):
        start(State(Path("/run/rayfleet-test")), print)
    assert not Path("/run/rayfleet-test").exists()


def test_a_state_directory_that_is_not_its_users_alone_is_refused(state: State) -> None:
    state.path.mkdir(mode=0o700)
    state.path.chmod(0o770)
    with pytest.raises(NotUp, match=r"others may write.*chmod go-w"):
        start(state, print)
    state.path.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(state.path, 54321, 54321)
        with pytest.raises(NotUp, match=r"belongs to another user \(uid 54321\)"):
            start(state, print)


def test_a_host_without_iproute_is_told_what_to_install_and_what_works_without(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "find", lambda tool: None if tool == "ip" else f"/bin/{tool}")
    with pytest.raises(HostLacks, match=r"(?s)command ip is not installed.*apt-get install iproute2.*render, plan"):
        start(state, print)


def test_a_kernel_that_refuses_namespaces_is_quoted(state: State, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(namespaces, "find", lambda tool: str(refusing) if tool == "unshare" else f"/bin/{tool}")
    with pytest.raises(HostLacks, match=r"(?s)Operation not permitted.*as root"):
        start(state, print)
    assert find_holder(state) is None


@pytest.mark.parametrize(
    ("name", "forbidding", "mend"),
    [
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_the_setting_that_keeps_ordinary_users_out_is_named_with_its_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, forbidding: str, mend: str
) -> None:
    monkeypatch.setattr(namespaces, "KERNEL", tmp_path)
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{forbidding}\n")
    assert mend in namespaces.advice("unshare: write failed /proc/self/uid_map: Operation not permitted")
    (tmp_path / name).write_text("7\n")
    assert "sysctl" not in namespaces.advice("unshare: write failed /proc/self/uid_map: Operation not permitted")


def test_another_system_than_linux_is_told_so(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces.sys, "platform", "darwin")
    with pytest.raises(HostLacks, match="needs Linux"):
        start(state, print)


def test_the_identity_of_a_process_is_its_pid_start_and_boot() -> None:
    own = identify(os.getpid())
    assert own and own.alive and own.boot == boot()
    assert not Identity(own.pid, own.start + 1, own.boot).alive
    assert not Identity(own.pid, own.start + 1, own.boot).signal(signal.SIGKILL)


def belongs(pid: int, state: State) -> bool:
    return str(state.path) in command_line(pid)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told_with_the_file_and_leaves_no_draft(state: State) -> None:
    state.path.mkdir(mode=0o700)
    (state.path / f".machine.json.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(OSError, match=rf"No space left on device: '{state.machine}'"):
        state.write(state.machine, "{}")
    assert not list(state.path.iterdir())
