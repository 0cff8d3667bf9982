"""What of a fleet is still there: processes, network namespaces, mounts, links. After `down` the answer must be nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rayfleet.local.identity import Identity, identify

NS_GET_PARENT = 0xB702  # ioctl_ns(2)


def members(holder: Identity) -> list[Identity]:
    """Every process in the holder's PID namespace or in one below it: peers, Pods, and all that they started."""
    root = pid_namespace(holder.pid)
    if root is None or not holder.alive:
        return []
    inside = (identify(pid) for pid in processes() if root in ancestry(pid))
    return [process for process in inside if process]


def living(processes: Iterable[Identity]) -> list[str]:
    """Those that still run, as words for a person."""
    return [f"process {process.pid} ({command_line(process.pid)})" for process in processes if process.alive]


def mounts(directory: Path) -> list[str]:
    """Mounts on the host at or below a directory."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines]
    return [f"mount {point}" for point in points if Path(point).is_relative_to(directory)]


def links() -> set[str]:
    """The host's network links."""
    return {entry.name for entry in Path("/sys/class/net").iterdir()}


def parent(process: Identity) -> Identity | None:
    """Who started it, as far as that one still lives."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return identify(int(fields[1]))


def processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def pid_namespace(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return None


def ancestry(pid: int) -> list[int]:
    """The inode numbers of a process's PID namespace and of those around it, as far as we may see."""
    found: list[int] = []
    try:
        descriptor = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
    except OSError:
        return found
    while True:
        found.append(os.fstat(descriptor).st_ino)
        try:
            parent = fcntl.ioctl(descriptor, NS_GET_PARENT)
        except OSError:
            return found
        finally:
            os.close(descriptor)
        descriptor = parent


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:100]
    except OSError:
        return "gone"
