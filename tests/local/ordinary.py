"""Ordinary users of this machine, as a test makes and removes them: a uid that nobody has, with a home of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rayfleet.local import leftovers
from rayfleet.local.state import State, default_state
from tests.local import become, forbid
from tests.local.waiting import eventually

UIDS = itertools.count(1_000_000 + 8 * os.getpid())


@dataclass(frozen=True)
class User:
    uid: int
    home: Path

    @property
    def state(self) -> State:
        """Where his fleet lives when he says nothing of it."""
        return State(default_state({"XDG_STATE_HOME": str(self.home / ".local" / "state")}))

    def command(self, *program: str) -> list[str]:
        """What root runs for this user to run the program, given by its path."""
        return [sys.executable, become.__file__, str(self.uid), str(self.home), *program]

    def command_without_namespaces(self, *program: str) -> list[str]:
        """The same where the administrator has set user.max_user_namespaces to 0."""
        return [sys.executable, forbid.__file__, *self.command(*program)]

    def processes(self) -> list[int]:
        return [pid for pid in leftovers.processes() if owner(pid) == self.uid]


@contextmanager
def ordinary_user() -> Iterator[User]:
    """Only root can make one; who is none has run everything as an ordinary user anyhow."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    user = User(next(UIDS), Path(tempfile.mkdtemp(prefix="someone-")))
    os.chown(user.home, user.uid, user.uid)
    try:
        yield user
        eventually(lambda: not user.processes(), 60.0, "no process of the user is left")
    finally:
        for pid in user.processes():  # of a test that failed
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(user.home, ignore_errors=True)


def owner(pid: int) -> int | None:
    """None for what has ended, though its parent has not looked yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return None if state == "Z" else Path(f"/proc/{pid}").stat().st_uid
    except (FileNotFoundError, ProcessLookupError):
        return None
