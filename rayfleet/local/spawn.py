"""Ask the holder for a new process inside the namespaces."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rayfleet.local.identity import Identity, identify
from rayfleet.local.state import State

CREDENTIALS = struct.Struct("3i")
ANSWER_IN = 10.0


class NotStarted(Exception):
    """The holder is gone, or the program could not be run; the text says which and why."""


def spawn(state: State, argv: Sequence[str], environment: Mapping[str, str], log: Path, lock: Path) -> Identity:
    """A program inside, a child of the holder, with a session and a log of its own; it holds `lock` while it lives. Raises NotStarted."""
    request = {"argv": list(argv), "env": dict(environment), "cwd": str(state.path), "log": str(log), "lock": str(lock)}
    try:
        with reach(state.path / "holder.sock") as holder:
            holder.sendall(json.dumps(request).encode() + b"\n")
            pid, refusal = hear(holder)
    except OSError as error:
        raise NotStarted(f"the holder does not answer: {error}") from error
    if refusal:
        raise NotStarted(f"{argv[0]}: {refusal}")
    found = identify(pid)
    if found is None:
        raise NotStarted(f"{argv[0]} ended at once; its log is {log}")
    return found


@contextmanager
def reach(path: Path) -> Iterator[socket.socket]:
    """A connection to a Unix socket, however long its path is: the kernel takes 107 bytes only, so the directory is opened first."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_IN)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
            yield connection
    finally:
        os.close(directory)


def hear(holder: socket.socket) -> tuple[int, str]:
    """(pid as this side sees it, why the program could not be run or "").

    The kernel notes the sender's pid and translates it for the receiver: unix(7), SCM_CREDENTIALS. End of file means that exec succeeded.
    """
    first, notes, _, _ = holder.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size))
    pids = [CREDENTIALS.unpack(data)[0] for level, kind, data in notes if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
    if first != b"+" or not pids:
        raise ConnectionError("it closed the connection")
    words = b""
    while part := holder.recv(4096):
        words += part
    return pids[0], words.decode(errors="replace")
