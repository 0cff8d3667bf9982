"""`down`: nothing is left, and what is to be kept is kept."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from rayfleet.local import leftovers
from rayfleet.local.end import end
from rayfleet.local.find import find_holder
from rayfleet.local.identity import started
from rayfleet.local.start import start
from rayfleet.local.state import State
from tests.local.fleet import Fleet
from tests.local.same_port import is_same_port
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces


def namespaces() -> set[str]:
    """Every network, mount and PID namespace that a process of this machine is in."""
    found = set()
    for pid in leftovers.processes():
        try:
            found |= namespaces_of(pid)
        except OSError:  # it has just ended
            continue
    return found


def namespaces_of(pid: int) -> set[str]:
    return {str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in ("net", "mnt", "pid")}


def test_after_down_no_process_namespace_mount_link_or_file_is_left(state: State) -> None:
    links, mounts = leftovers.links(), Path("/proc/self/mountinfo").read_text()
    start(state, print)
    holder = find_holder(state)
    assert holder
    eventually(lambda: (state.objects / "state.sqlite").exists())
    own = namespaces_of(holder.pid)
    assert own <= namespaces()
    inside = leftovers.members(holder)
    ended = end(state, forget=True)
    assert ended.ran and ended.left == ()
    assert [process for process in inside if started(process.pid) == process.start] == []
    assert not own & namespaces()
    assert leftovers.links() == links
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert not state.path.exists()


def test_down_keeps_objects_claims_credentials_and_ports(state: State) -> None:
    first = start(state, print)
    eventually(lambda: (state.objects / "state.sqlite").exists())
    authority = (state.credentials / "ca.crt").read_text()
    fleet, path = Fleet(state), "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = eventually(lambda: fleet.send("POST", path, {"metadata": {"name": "disk"}, "spec": spec}))
    claim = state.pods / "claims" / made["metadata"]["uid"] / "data"
    claim.parent.mkdir(parents=True, exist_ok=True)
    claim.write_text("kept")
    end(state)
    assert {path.name for path in state.path.iterdir()} == {"objects", "credentials", "ports.json", "lock", "kubelet"}
    assert claim.read_text() == "kept"
    assert (state.objects / "state.sqlite").exists()
    assert not (state.path / "kubeconfig").exists()
    assert is_same_port(first.port, start(state, print).port)
    assert (state.credentials / "ca.crt").read_text() == authority


def test_down_works_without_a_door_and_without_peers(state: State) -> None:
    first = start(state, print)
    first.process.signal(signal.SIGKILL)
    first.process.wait(5.0)
    assert end(state, forget=True).left == ()
    assert not state.path.exists()


def test_down_of_a_dead_fleet_removes_its_directory(state: State) -> None:
    first, holder = start(state, print), find_holder(state)
    assert holder
    first.process.signal(signal.SIGKILL)
    holder.signal(signal.SIGKILL)
    holder.wait(5.0)
    assert not end(state, forget=True).ran
    assert not state.path.exists()


def test_down_where_nothing_ever_ran_does_nothing(state: State) -> None:
    assert not end(state).ran
    assert not state.path.exists()
