"""A process that does not outlive the one that started it, whatever happens to that one."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
PATIENCE = 10.0  # seconds for an orderly end


class Process:
    """Has a session of its own, so that its children end with it; the kernel kills it when the *thread* that started it ends."""

    def __init__(self, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None, enter: Sequence[str] = ()) -> None:
        self.log = log
        with log.open("ab") as output:
            self.popen = subprocess.Popen(
                [*enter, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environ,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def told(self) -> str:
        """All that it has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def signal(self, number: int) -> None:
        """To the process and its children; nothing when it has ended."""
        if self.alive:
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """As a crash does it."""
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def stop(self) -> int:
        """In good order if it can be had, and its exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.popen.wait()


def die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
