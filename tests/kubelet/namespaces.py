"""A network namespace of the test's own, and the count of what Pods may leave behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from rayfleet.cli.check import OK
from rayfleet.cli.machine import policies_row
from rayfleet.kubelet.cgroups import RECORD, directories
from rayfleet.kubelet.network import LINK_PREFIX, tool
from rayfleet.kubelet.shim import syscalls


def refusal() -> str:
    """Why no namespaces can be made here, "" when they can."""
    try:
        trial = subprocess.run(
            [tool("unshare"), "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False
        )
        links = subprocess.run(
            [tool("unshare"), "--net", tool("ip"), "link", "add", "rf0", "type", "bridge"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return trial.stderr.strip() or links.stderr.strip()


@cache
def unenforced() -> str:
    """Why nobody can be held to NetworkPolicies here, "" when Pods can."""
    if why := refusal():
        return why
    row = policies_row()
    return "" if row.state == OK else row.says


@contextmanager
def own_network() -> Iterator[None]:
    """The calling thread lives in a new network namespace with nothing but loopback, and so do the processes that it starts."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    syscalls.unshare(syscalls.CLONE_NEWNET)
    try:
        subprocess.run([tool("ip"), "link", "set", "lo", "up"], check=True)
        yield
    finally:
        syscalls.setns(before, syscalls.CLONE_NEWNET)
        os.close(before)


def shims(state: Path) -> list[int]:
    """Processes that were started for the Pods of a state directory, and those that live in the namespaces of one."""
    found = [pid for pid in processes() if str(state).encode() in command_line(pid)]
    namespaces = {link for pid in found if (link := namespace(pid))}
    return sorted({*found, *(pid for pid in processes() if namespace(pid) in namespaces)})


def sandboxes(state: Path) -> set[str]:
    """The network namespaces that belong to Pods of a state directory."""
    return {link for pid in shims(state) if (link := namespace(pid))}


def processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() if pid != os.getpid() else b""
    except OSError:
        return b""


def namespace(pid: int) -> str:
    """The network namespace of a process, "" when it is ours or the process is gone."""
    try:
        link = str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
    return "" if link == str(Path("/proc/thread-self/ns/net").readlink()) else link


def remains(state: Path) -> dict[str, object]:
    """What is there of Pods: processes, namespaces, links, mounts, directories. All empty after a good end."""
    return {
        "processes": shims(state),
        "links": [line for line in links().splitlines() if LINK_PREFIX in line],
        "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(state) in line],
        "cgroups": [str(path) for path in cgroups(state)],
        "directories": sorted(path.name for path in (state / "pods").glob("*")),
    }


def cgroups(state: Path) -> list[Path]:
    """Those of the kubelet and of Pods."""
    record = state / RECORD
    tops = [Path(line) for line in record.read_text().splitlines()] if record.exists() else []
    return sorted(path for top in tops for path in (top, *directories(top)) if path.exists())


def links() -> str:
    """The network links of this namespace, a line for each."""
    return subprocess.run([tool("ip"), "-o", "link"], capture_output=True, text=True, check=True).stdout


NOTHING: dict[str, object] = {"processes": [], "links": [], "mounts": [], "cgroups": [], "directories": []}
