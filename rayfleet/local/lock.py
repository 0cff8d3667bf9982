"""One at a time: `up` and `down` of the same state directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rayfleet.local.state import State


@contextmanager
def locked(state: State) -> Iterator[None]:
    """Wait for the directory's lock and hold it. The kernel lets go of it when this process ends, however it ends."""
    while True:
        state.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if same_file(descriptor, state):
            break
        os.close(descriptor)  # a `down` removed the directory while we waited
    try:
        yield
    finally:
        os.close(descriptor)


def same_file(descriptor: int, state: State) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), state.lock.stat())
    except FileNotFoundError:
        return False
