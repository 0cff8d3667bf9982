"""Limits of containers by cgroups, of version 1 or 2, as far as they can be written.

Each container with a limit has a cgroup of its own, and sees it at /sys/fs/cgroup, as in an image. Where none can be made, a container
still sees its limits there, in files that nobody enforces: Ray and others size themselves by them.
Sources: https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html and
https://kubernetes.io/docs/concepts/architecture/cgroups/
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rayfleet.api.quantity import parse

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "cpu")
PERIOD = 100_000  # microseconds
LEAST_QUOTA = 1_000
MEMBERS = "fleet"  # of version 2: below a cgroup that was lent to a fleet, the one that its own processes are in
RECORD = "cgroups"  # the file of the state directory that names what was made


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and processors; None: no limit."""

    memory: int | None = None
    cpu: Fraction | None = None

    def __bool__(self) -> bool:
        return self.memory is not None or self.cpu is not None


def limits_of(container: Mapping[str, Any]) -> Limits:
    """Raises ValueError for what is no quantity."""
    given = (container.get("resources") or {}).get("limits") or {}
    memory, cpu = (parse(given[name]).amount if name in given else None for name in CONTROLLERS)
    return Limits(int(memory) if memory else None, cpu or None)


class Cgroups:
    """`tops`: the directory of each controller below which Pods' cgroups are; none for one that is not to be had, and why not."""

    def __init__(self, state: Path, mount: Path = MOUNT, own: Path = Path("/proc/self/cgroup")) -> None:
        self.unified = (mount / "cgroup.controllers").exists()
        self.refusal = ""
        self.mount = mount
        try:
            self.tops = self.open(f"rayfleet-{hashlib.sha256(str(state).encode()).hexdigest()[:10]}", own)
            (state / RECORD).write_text("".join(f"{top}\n" for top in self.all_tops))
            self.shut()
        except OSError as error:
            self.tops, self.refusal = {}, f"{error.strerror}: {error.filename}" if error.filename else str(error)

    @property
    def all_tops(self) -> list[Path]:
        return list(dict.fromkeys(self.tops.values()))

    def shut(self) -> None:
        """Nothing is left of a kubelet without Pods; what still holds some stays."""
        for top in self.all_tops:
            with contextlib.suppress(OSError):
                top.rmdir()

    def open(self, name: str, own: Path) -> dict[str, Path]:
        """Makes the kubelet's own cgroup. Raises OSError."""
        if self.unified:
            base = self.base(own)
            had = [each for each in CONTROLLERS if each in (base / "cgroup.controllers").read_text().split()]
            self.refusal = "" if len(had) == len(CONTROLLERS) else f"{base} has of the controllers {' and '.join(had) or 'none'}"
            if not had:
                raise OSError(self.refusal)
            delegate(base, had)
            top = made(base / name)
            delegate(top, had)
            return dict.fromkeys(had, top)
        paths = dict(line.split(":")[1:] for line in own.read_text().splitlines())
        found = {}
        for controller in CONTROLLERS:
            joined = next((key for key in paths if controller in key.split(",")), controller)
            base = self.mount / controller / paths.get(joined, "/").lstrip("/")
            found[controller] = self.made_top((base if base.is_dir() else self.mount / controller) / name)
        return found

    def base(self, own: Path) -> Path:
        """Of version 2, what cgroups may be made in: the one that systemd lent the fleet, else the root. In both no process counts that is
        in it itself."""
        inside = next((line[len("0::/") :] for line in own.read_text().splitlines() if line.startswith("0::/")), "")
        directory = self.mount / inside
        return directory.parent if directory.name == MEMBERS else self.mount

    def made_top(self, top: Path) -> Path:
        made(top)
        if self.unified:
            delegate(top, self.tops)
        return top

    def unheeded(self, container: str, limits: Limits) -> str:
        """What of a container's limits nobody enforces, as a sentence; "" when all are."""
        given = {"memory": limits.memory, "cpu": limits.cpu}
        lacks = [name for name, limit in given.items() if limit is not None and name not in self.tops]
        which = f"limit of {lacks[0]}" if self.tops and lacks else "limits"
        ends = f"told to it, but not enforced, as cgroups cannot be made here ({self.refusal})"
        return f"the {which} of container {container} {'is' if self.tops else 'are'} {ends}" if lacks else ""

    def make(self, uid: str, name: str, limits: Limits) -> list[Path]:
        """The cgroups that a container's processes have to join, with its limits. Raises OSError."""
        if not limits or not self.tops:
            return []
        given = {"memory": limits.memory, "cpu": limits.cpu}
        found = []
        for top in dict.fromkeys(top for controller, top in self.tops.items() if given[controller]):
            pod = made(self.made_top(top) / uid)
            if self.unified:
                delegate(pod, self.tops)
            path = made(pod / name)
            for file, text in settings(limits, self.unified).items():
                if (path / file).exists():
                    (path / file).write_text(text)
            found.append(path)
        return found

    def views(self, made: Iterable[Path]) -> list[list[str]]:
        """The mounts by which a container sees them in the usual place."""
        if self.unified:
            return [["bind", str(path), str(self.mount), "ro"] for path in made]
        return [
            ["bind", str(path), str(self.mount / ("memory" if (path / "memory.limit_in_bytes").exists() else "cpu")), "ro"] for path in made
        ]

    def pretend(self, directory: Path, limits: Limits) -> list[list[str]]:
        """The same, of files that say the limits and count nothing."""
        directory.mkdir(parents=True, exist_ok=True)
        told = {**settings(limits, True), "memory.current": "0", "memory.stat": "inactive_file 0\nactive_file 0"}
        for file, text in told.items():
            if file != "memory.oom.group":
                (directory / file).write_text(text + "\n")
        return [["bind", str(directory), str(self.mount), "ro"]]

    def remove(self, uid: str) -> None:
        """A Pod's cgroups, whose processes have ended."""
        for top in self.all_tops:
            remove_tree(top / uid)
        self.shut()

    def remove_life(self, uid: str, name: str) -> None:
        """A container's of an earlier life."""
        for top in self.all_tops:
            remove_tree(top / uid / name)

    def sweep(self, known: Iterable[str]) -> None:
        kept = set(known)
        for top in self.all_tops:
            for path in directories(top):
                if path.name not in kept:
                    remove_tree(path)
        self.shut()


def settings(limits: Limits, unified: bool) -> dict[str, str]:
    """What is written into a cgroup's files."""
    found = {}
    if limits.memory is not None:
        found |= {"memory.max": str(limits.memory), "memory.oom.group": "1"} if unified else {"memory.limit_in_bytes": str(limits.memory)}
    if limits.cpu is not None:
        quota = max(LEAST_QUOTA, int(limits.cpu * PERIOD))
        found |= {"cpu.max": f"{quota} {PERIOD}"} if unified else {"cpu.cfs_period_us": str(PERIOD), "cpu.cfs_quota_us": str(quota)}
    return found


def delegate(directory: Path, controllers: Collection[str]) -> None:
    """Lets the cgroups below have limits. Raises OSError where that is another's to say, or processes are in it."""
    control = directory / "cgroup.subtree_control"
    if not set(controllers) <= set(control.read_text().split()):
        control.write_text(" ".join(f"+{controller}" for controller in controllers))


def made(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


def directories(path: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [entry for entry in path.iterdir() if entry.is_dir()]
    return []


def remove_tree(path: Path) -> None:
    """A cgroup and those below it; one that still holds processes stays."""
    for entry in directories(path):
        remove_tree(entry)
    with contextlib.suppress(OSError):
        path.rmdir()


def remove_recorded(state: Path) -> list[str]:
    """For `down`: what a kubelet's record names is removed; what is left of it."""
    try:
        tops = [Path(line) for line in (state / RECORD).read_text().splitlines()]
    except OSError:
        return []
    for top in tops:
        if top.name.startswith("rayfleet-"):
            remove_tree(top)
    return [f"cgroup {top}" for top in tops if top.exists()]
