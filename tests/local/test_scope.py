"""The cgroup that an ordinary user's systemd lends to a fleet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rayfleet.local import leftovers, scope
from rayfleet.local.end import end
from rayfleet.local.find import find_holder
from rayfleet.local.namespaces import start_holder
from rayfleet.local.scope import hindrance, lent
from rayfleet.local.state import State

LENDS = """#!/bin/sh
echo "$@" >> {told}
while [ "${{1#--}}" != "$1" ]; do shift; done
exec "$@"
"""


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemd-run that lends; the file of what it was asked."""
    told, program = tmp_path / "told", tmp_path / "systemd-run"
    program.write_text(LENDS.format(told=told))
    program.chmod(0o755)
    monkeypatch.setattr(scope, "find", lambda tool: str(program) if tool == "systemd-run" else f"/bin/{tool}")
    return told


def places(tmp_path: Path, *, own: str, controllers: bool = True, lingers: bool = False) -> dict[str, Path]:
    if controllers:
        (tmp_path / "cgroup.controllers").write_text("cpu memory")
    (tmp_path / "own").write_text(f"0::{own}\n")
    if lingers:
        for name in scope.names():
            (tmp_path / name).write_text("")
    return {"mount": tmp_path, "own": tmp_path / "own", "lingering": tmp_path}


def test_it_is_taken_where_it_lasts_as_long_as_the_fleet(systemd: Path, tmp_path: Path) -> None:
    terminal = f"/user.slice/user-{os.getuid()}.slice/user@{os.getuid()}.service/app.slice/terminal.scope"
    assert hindrance(**places(tmp_path, own=terminal)) == ""
    assert "loginctl enable-linger" in hindrance(**places(tmp_path, own="/user.slice/session-1.scope"))
    assert hindrance(**places(tmp_path, own="/user.slice/session-1.scope", lingers=True)) == ""


def test_without_version_2_or_systemd_it_is_said_why_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "version 1" in hindrance(**places(tmp_path, own="/", controllers=False))
    monkeypatch.setattr(scope, "find", lambda tool: None)
    assert "systemd-run is not installed" in hindrance(**places(tmp_path, own="/"))


def test_a_systemd_that_refuses_is_quoted(systemd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systemd-run").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n")
    monkeypatch.setattr(scope, "hindrance", lambda mount: "")
    assert lent() == ([], "the user's systemd lends none: Failed to connect to bus")


@pytest.mark.namespaces
def test_the_holder_is_started_in_it(systemd: Path, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "hindrance", lambda mount: "")
    before, why = lent()
    state.make()
    outer, _ = start_holder(state, before)
    assert why == "" and find_holder(state)
    asked = systemd.read_text().splitlines()[-1]
    assert asked.startswith("--user --scope") and "Delegate=yes" in asked and "unshare" in asked
    assert outer == leftovers.parent(find_holder(state))
    end(state)
