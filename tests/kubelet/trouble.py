"""Ways to bring a machine into trouble."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rayfleet.kubelet.shim import syscalls

SEIZE, ALL = 0x4206, 0x40000000  # PTRACE_SEIZE, __WALL


@contextmanager
def disk(state: Path, options: str) -> Iterator[None]:
    """A file system of its own under the directories of Pods."""
    (state / "pods").mkdir(exist_ok=True)
    syscalls.mount("rayfleet-test", str(state / "pods"), "tmpfs", 0, options)
    try:
        yield
    finally:
        syscalls.detach(str(state / "pods"))


@contextmanager
def held(pid: int) -> Iterator[None]:
    """Who kills the process is not rid of it meanwhile, as if it waited for a disk: a debugger holds it that does not look at it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(SEIZE, pid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")
    try:
        yield
    finally:
        with suppress(ChildProcessError):
            os.waitpid(pid, ALL)
