"""Starts a container, or a command inside a running one.

Each container is PID 1 of a PID namespace below the Pod's: when it ends, the kernel ends all that it started, as in a real container, and a
SIGTERM reaches it only if it handles that signal. The parent keeps its own PID namespace: only what it forks next goes elsewhere.
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
# ruff: noqa: PTH123
from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from typing import Any

from rayfleet.kubelet.shim import rootfs, syscalls
from rayfleet.kubelet.shim.streams import Streams

UNCHANGEABLE = (signal.SIGKILL, signal.SIGSTOP)  # no program can have these otherwise


# What container runtimes leave to root: CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW SYS_CHROOT
# MKNOD AUDIT_WRITE SETFCAP. Above all not SYS_ADMIN, which could make the machine's file system writable again.
CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})
OPEN_FILES = 1 << 20  # the limit that containers usually have; Ray's start commands ask for 65,536


class StartFailed(Exception):
    """The program could not be started; the text is what a container runtime would say."""


def start_container(directory: str, request: dict[str, Any]) -> tuple[int, list[int]]:
    """Forks the container's first process. Returns its PID and the far ends of its streams (see Streams).

    `stdin` and `tty` in the request are as in a container's spec. Raises StartFailed when a mount fails or the program cannot be executed.
    """

    def prepare() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        rootfs.build(f"{directory}/root", request["mounts"])
        if request["cwd"].startswith("/"):
            rootfs.ensure(request["cwd"], directory=True)  # as container runtimes do

    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    syscalls.unshare(syscalls.CLONE_NEWPID)
    return spawn(request, prepare, own, Streams(stdin=bool(request.get("stdin")), tty=bool(request.get("tty"))))


def start_inside(container: int, request: dict[str, Any], *, merged: bool) -> tuple[int, list[int]]:
    """As start_container, for a command in the namespaces of the running container whose first process is given."""
    mounts = os.open(f"/proc/{container}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    theirs = os.open(f"/proc/{container}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(theirs, syscalls.CLONE_NEWPID)
        streams = Streams(stdin=bool(request.get("stdin")), tty=bool(request.get("tty")), merged=merged)
        return spawn(request, lambda: syscalls.setns(mounts, syscalls.CLONE_NEWNS), own, streams)
    finally:
        os.close(mounts)
        os.close(theirs)


def spawn(request: dict[str, Any], prepare: Callable[[], None], own: int, streams: Streams) -> tuple[int, list[int]]:
    trouble, trouble_end = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
    except OSError as error:  # the namespace's first process has just ended
        pid = -1
        message = f"fork: {error.strerror}"
    if pid == 0:
        become(request, prepare, streams, trouble_end)
    syscalls.setns(own, syscalls.CLONE_NEWPID)
    for fd in (own, trouble_end):
        os.close(fd)
    if pid > 0:
        message = read_all(trouble).decode(errors="replace")
    os.close(trouble)
    if not message:
        return pid, streams.keep()
    streams.drop()
    if pid > 0:
        os.waitpid(pid, 0)
    raise StartFailed(message)


def become(request: dict[str, Any], prepare: Callable[[], None], streams: Streams, trouble: int) -> None:
    """In the child: turns it into the program. Never returns."""
    try:
        os.setsid()
        for group in request.get("cgroups") or ():
            join(group)
        prepare()
        allow_open_files()
        syscalls.drop_capabilities(CAPABILITIES)
        streams.take()
        signal.set_wakeup_fd(-1)
        # exec passes on what is ignored: two signals by Python itself, others where a fleet was started by nohup or in the background.
        for number in signal.valid_signals() - set(UNCHANGEABLE):
            signal.signal(number, signal.SIG_DFL)
        if request.get("account"):
            change_user(*request["account"])
        execute(request)
    except BaseException as error:
        os.write(trouble, (getattr(error, "strerror", None) or str(error)).encode())
    os._exit(128)


def join(group: str) -> None:
    with open(f"{group}/cgroup.procs", "w") as file:
        file.write("0")


def change_user(user: int, group: int, groups: list[int]) -> None:
    os.setgroups(groups)
    os.setgid(group)
    os.setuid(user)


def allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # without real root the limit stays as it is
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, max(hard, OPEN_FILES)))


def execute(request: dict[str, Any]) -> None:
    program, directory = request["argv"][0], request["cwd"]
    try:
        os.chdir(directory)
    except OSError as error:
        raise StartFailed(f"chdir to the working directory {directory}: {error.strerror}") from error
    try:
        os.execvpe(program, request["argv"], request["env"])
    except OSError as error:
        absent = isinstance(error, FileNotFoundError) and "/" not in program
        raise StartFailed(f'exec: "{program}": {"executable file not found in $PATH" if absent else error.strerror}') from error


def was_out_of_memory(groups: list[str]) -> bool:
    """Has the kernel killed a process of these cgroups for want of memory?"""
    for group in groups:
        for name in ("memory.oom_control", "memory.events"):
            try:
                with open(f"{group}/{name}") as file:
                    counts = dict(line.split() for line in file if len(line.split()) == 2)
            except OSError:
                continue
            if int(counts.get("oom_kill", 0)):
                return True
    return False


def read_all(fd: int) -> bytes:
    pieces = []
    while piece := os.read(fd, 4096):
        pieces.append(piece)
    return b"".join(pieces)


def end_of(status: int) -> tuple[int, int]:
    """(exit code, signal) of a wait status; a process killed by a signal has 128 + signal as its code, as runtimes say it."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
    return os.WEXITSTATUS(status), 0
