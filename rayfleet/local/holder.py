"""The holder: process 1 of the fleet's namespaces. When it ends, the kernel ends everything inside.

It runs as a plain script (`python -I -S holder.py SOCKET`) and imports nothing of rayfleet, to be small and to need nothing that could
break. It reaps orphans, and starts peers on request: so every peer is its child and is reaped here, whoever on the host has died.

A request is one line of JSON {argv, env, cwd, log, lock} on the Unix socket. The answer is one byte sent by the new process itself, whose
kernel-made credentials tell the asker the pid as the asker's side sees it; text after it says why the program could not be run.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time

GRACE = 3.0
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def main(path: str) -> None:
    prepare()
    wake, nudge = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(nudge, warn_on_full_buffer=False)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    listener = listen(path)
    report("ready")
    events = selectors.DefaultSelector()
    events.register(listener, selectors.EVENT_READ)
    events.register(wake, selectors.EVENT_READ)
    while not stopping:
        for key, _ in events.select():
            if key.fileobj is listener:
                answer(listener)
            else:
                os.read(wake, 512)
                reap()
    end()


def prepare() -> None:
    """Loopback up; a /run of our own, where names of network namespaces live and vanish with us."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", b"/run", b"tmpfs", 0, b"mode=755") != 0:
        raise OSError(ctypes.get_errno(), "mount tmpfs on /run")
    with contextlib.suppress(FileExistsError):
        os.mkdir("/run/netns")  # noqa: PTH102  (pathlib would double this process's size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(link, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(link, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def listen(path: str) -> socket.socket:
    # The directory first: a Unix socket's path may have 107 bytes only.
    os.chdir(os.path.dirname(path))  # noqa: PTH120
    name = os.path.basename(path)  # noqa: PTH119
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)  # noqa: PTH108
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(name)
    os.chmod(name, 0o600)  # noqa: PTH101
    listener.listen(16)
    return listener


def report(text: str) -> None:
    """Tell the starter, then let go of its pipe."""
    os.write(1, text.encode() + b"\n")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    os.close(null)


def answer(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(5.0)
        try:
            with connection.makefile("rb") as lines:
                request = json.loads(lines.readline())
        except (OSError, ValueError):
            return
        if os.fork() == 0:
            become(connection, request)


def become(connection: socket.socket, request: dict) -> None:
    """The new process: say that we are, take our own session and log, and turn into the program."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        connection.sendall(b"+")
        claim(request["lock"])
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(request["cwd"])
        os.execve(request["argv"][0], request["argv"], request["env"])
    except BaseException as error:
        with contextlib.suppress(OSError):
            connection.sendall(str(error).encode())
    os._exit(127)


def claim(path: str) -> None:
    """Hold a lock for this process's life: one peer of a name at a time, even when the asker died before it noted our pid."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(f"another one runs already ({path} is locked)") from None
    os.set_inheritable(descriptor, True)


def reap() -> bool:
    """Collect what has ended; False when nobody is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def end() -> None:
    """Ask everybody to go; who has not gone in time goes with us."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while reap() and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Exception as problem:
        os.write(2, f"holder: {problem}\n".encode())
        sys.exit(1)
