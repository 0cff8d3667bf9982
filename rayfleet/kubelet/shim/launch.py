"""Makes a Pod's namespaces and becomes their first process: `launch(DIRECTORY)`.

The caller's process ends as soon as the new one listens on `shim.sock`, with code 0, or says on stderr why it cannot and ends with 1.
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
# ruff: noqa: PTH108, PTH123
from __future__ import annotations

import fcntl
import json
import os
import socket
import sys

from rayfleet.kubelet.shim import syscalls
from rayfleet.kubelet.shim.serve import Shim

NAMESPACES = syscalls.CLONE_NEWNET | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWPID


def launch(directory: str) -> None:
    """`sandbox.json` in the directory says: hostname, and tmpfs as [path, options] pairs."""
    with open(f"{directory}/sandbox.json") as file:
        wanted = json.load(file)
    claim(directory)
    ready, ready_end = os.pipe()
    syscalls.unshare(NAMESPACES)
    if os.fork():
        os.close(ready_end)
        sys.exit(0 if os.read(ready, 1) else 1)
    os.close(ready)
    os.setsid()
    furnish(wanted["hostname"], wanted["tmpfs"])
    shim = Shim(directory, listen(directory))
    os.write(ready_end, b"1")
    os.close(ready_end)
    shim.run()


def claim(directory: str) -> None:
    """One shim a directory, for as long as it lives: a kubelet may die while it launches one, and the next may launch another."""
    lock = os.open(f"{directory}/shim.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another shim lives in this directory")


def furnish(hostname: str, temporary: list[list[str]]) -> None:
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    syscalls.sethostname(hostname)
    for path, options in temporary:
        syscalls.mount("rayfleet", path, "tmpfs", 0, options)


def listen(directory: str) -> socket.socket:
    os.chdir(directory)  # a socket's path may have 107 bytes only
    if os.path.lexists("shim.sock"):
        os.unlink("shim.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("shim.sock")
    listener.listen(8)
    listener.setblocking(False)
    return listener
