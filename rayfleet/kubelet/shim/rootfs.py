"""What a container sees as its file system: the machine's, read-only, with places of its own put over it.

The new root is an empty tmpfs into which each directory of the machine's root is bound. A mount point that the machine lacks is made
without touching the machine: its parent is replaced by a tmpfs that holds the same entries and one more (`mirror`).
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
# ruff: noqa: PTH102, PTH103, PTH106, PTH112, PTH115, PTH120, PTH211
from __future__ import annotations

import os

from rayfleet.kubelet.shim import syscalls

OWN = {"tmp", "run", "proc"}  # never the machine's: leftovers there would outlive the Pod, and /run holds the machine's sockets
OLD = "/.old"


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
    os.makedirs(f"{place}/proc", exist_ok=True)
    syscalls.mount("proc", f"{place}/proc", "proc")
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
