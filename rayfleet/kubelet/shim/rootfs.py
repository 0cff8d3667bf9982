"""What a container sees as its file system: the machine's, read-only, with places of its own put over it.

The new root is an empty tmpfs into which each directory of the machine's root is bound. A mount point that the machine lacks is made
without touching the machine: its parent is replaced by a tmpfs that holds the same entries and one more (`mirror`).
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
# ruff: noqa: PTH102, PTH106, PTH110, PTH112, PTH115, PTH120, PTH211
from __future__ import annotations

import os

from rayfleet.kubelet.shim import syscalls

OWN = {"tmp", "run", "proc", "dev"}  # never the machine's: leftovers there would outlive the Pod, and /run holds the machine's sockets
OLD = "/.old"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
ACCELERATORS = ("nvidia", "dri", "kfd", "accel", "neuron")
DEV_LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
SHARED_PROC = ("sys", "irq", "bus", "fs", "sysrq-trigger")


def build(place: str, mounts: list[list[str]]) -> None:
    """Makes `place` the root of the calling process, which must be in a mount namespace of its own.

    `mounts` are, in order: `["bind", source, target, "ro" or "rw"]` and `["tmpfs", options, target, ""]`; sources are the machine's paths.
    Raises OSError, naming the mount that failed.
    """
    syscalls.mount("rayfleet", place, "tmpfs", 0, "mode=755,size=64m")
    with os.scandir("/") as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            bind_top(entry, f"{place}/{entry.name}")
    os.mkdir(place + OLD)
    furnish_dev(f"{place}/dev")
    furnish_proc(f"{place}/proc")
    os.chdir(place)
    syscalls.pivot_root(".", "." + OLD)
    os.chdir("/")
    for kind, source, target, mode in mounts:
        put(kind, source, target, mode)
    syscalls.detach(OLD)
    os.rmdir(OLD)


def bind_top(entry: os.DirEntry[str], target: str) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), target)
        return
    create(target, entry.is_dir())
    if entry.name not in OWN:
        bind(entry.path, target, read_only=True)


def furnish_dev(dev: str) -> None:
    """No disks: root in a container could write to them. Terminals are the container's own."""
    syscalls.mount("rayfleet", dev, "tmpfs", 0, "mode=755,size=64k")
    with os.scandir("/dev") as entries:
        for entry in entries:
            if entry.name in DEVICES or entry.name.startswith(ACCELERATORS):
                create(f"{dev}/{entry.name}", entry.is_dir())
                syscalls.mount(entry.path, f"{dev}/{entry.name}", "", syscalls.MS_BIND | syscalls.MS_REC)
    for name in ("pts", "shm"):
        create(f"{dev}/{name}", True)
    syscalls.mount("devpts", f"{dev}/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620")
    for name, target in DEV_LINKS.items():
        os.symlink(target, f"{dev}/{name}")


def furnish_proc(proc: str) -> None:
    """The kernel's settings are the machine's, and cannot be changed."""
    syscalls.mount("proc", proc, "proc")
    for name in SHARED_PROC:
        if os.path.exists(f"{proc}/{name}"):
            bind(f"{proc}/{name}", f"{proc}/{name}", read_only=True)


def put(kind: str, source: str, target: str, mode: str) -> None:
    if kind == "tmpfs":
        syscalls.mount("rayfleet", ensure(target, True), "tmpfs", 0, source)
        return
    origin = OLD + source
    bind(origin, ensure(target, os.path.isdir(origin)), mode == "ro")


def bind(source: str, target: str, read_only: bool) -> None:
    syscalls.mount(source, target, "", syscalls.MS_BIND | syscalls.MS_REC)
    if read_only:
        syscalls.make_read_only(target)


def ensure(target: str, directory: bool) -> str:
    """The real path of the mount point, made when it is missing."""
    target = os.path.realpath(target)
    if os.path.lexists(target):
        return target
    parent = ensure(os.path.dirname(target), True)
    try:
        create(target, directory)
    except OSError:
        mirror(parent)
        create(target, directory)
    return target


def create(path: str, directory: bool) -> None:
    if directory:
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def mirror(directory: str) -> None:
    """Puts a tmpfs over the directory, with every entry of it bound in."""
    below = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    with os.scandir(directory) as found:
        entries = list(found)
    syscalls.mount("rayfleet", directory, "tmpfs", 0, "mode=755,size=64m")
    for entry in entries:
        target = f"{directory}/{entry.name}"
        if stat_is_link(below, entry.name):
            os.symlink(os.readlink(entry.name, dir_fd=below), target)
            continue
        create(target, entry.is_dir())
        syscalls.mount(f"/proc/self/fd/{below}/{entry.name}", target, "", syscalls.MS_BIND | syscalls.MS_REC)
    os.close(below)


def stat_is_link(directory: int, name: str) -> bool:
    return (os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode & 0o170000) == 0o120000
