"""`down`: stop in order, let the kernel end the rest, then look whether anything is left."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

import msgspec

from rayfleet.kubelet.cgroups import remove_recorded
from rayfleet.local import leftovers
from rayfleet.local.find import find_door, find_holder
from rayfleet.local.identity import stop
from rayfleet.local.lock import locked
from rayfleet.local.peers import PEERS, load_record
from rayfleet.local.state import State

PEER_GRACE = 5.0
HOLDER_GRACE = 15.0
# Objects stay, and with them what their users know: ports, tokens, the authority.
KEPT = ("objects", "credentials", "ports.json", "configuration", "lock")
KEPT_OF_PODS = ("claims", "logs", "pods")


class Ended(msgspec.Struct, frozen=True):
    """What `down` found and did. `left` names what could not be ended: it must be empty."""

    ran: bool
    processes: int
    left: tuple[str, ...]


def end(state: State, *, forget: bool = False) -> Ended:
    """End the fleet of a state directory. With `forget` the directory goes too."""
    if not state.path.exists():
        return Ended(False, 0, ())
    with locked(state):
        holder, door = find_holder(state), find_door(state)
        inside = leftovers.members(holder) if holder else []
        if door:
            stop(door.process, PEER_GRACE)  # first, or it would start the peers again
        for name in reversed(PEERS):
            record = load_record(state, name)
            if record:
                stop(record.process, PEER_GRACE)
        if holder:
            outer = leftovers.parent(holder)
            stop(holder, HOLDER_GRACE)
            if outer:
                outer.wait(PEER_GRACE)
                inside.append(outer)
        left = (*leftovers.living(inside), *leftovers.mounts(state.path), *remove_recorded(state.pods))
        return Ended(holder is not None, len(inside), (*left, *remove(state, forget)))


def remove(state: State, forget: bool) -> list[str]:
    """What could not be removed, as words for a person."""
    if forget:
        remove_tree(state.path)
        return [f"directory {state.path}"] if state.path.exists() else []
    return [*remove_but(state.path, (*KEPT, state.pods.name)), *remove_pods(state)]


def remove_pods(state: State) -> list[str]:
    """As `remove`, of what is left of Pods when nothing of them runs. Claims, volumes, logs and the records of their containers stay, as on
    a node that reboots: the next kubelet goes on from there, as each Pod's policy says."""
    scratch = list(state.pods.glob("pods/*/containers/*/scratch-*"))
    for directory in scratch:
        remove_tree(directory)
    left = [f"directory {directory}" for directory in scratch if directory.exists()]
    return [*left, *remove_but(state.pods, KEPT_OF_PODS)]


def remove_but(directory: Path, kept: Collection[str]) -> list[str]:
    """As `remove`, of all but the entries named."""
    left = []
    for entry in directory.iterdir() if directory.exists() else ():
        if entry.name in kept:
            continue
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink()
            continue
        remove_tree(entry)
        left += [f"directory {entry}"] if entry.exists() else []
    return left


def remove_tree(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():  # a container closed a directory of its own: to root of its namespace that is nothing, to its user here it is
        open_up(directory)
        shutil.rmtree(directory, ignore_errors=True)


def open_up(directory: Path) -> None:
    """Let the owner into every directory below. Links stay as they are: they may lead anywhere."""
    for at, names, _ in os.walk(directory):
        for path in (Path(at, name) for name in names):
            if not path.is_symlink():
                with contextlib.suppress(OSError):  # another user's
                    path.chmod(0o700)
