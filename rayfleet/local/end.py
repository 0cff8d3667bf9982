"""`down`: stop in order, let the kernel end the rest, then look whether anything is left."""

from __future__ import annotations

import shutil

import msgspec

from rayfleet.local import leftovers
from rayfleet.local.find import find_door, find_holder
from rayfleet.local.identity import stop
from rayfleet.local.lock import locked
from rayfleet.local.peers import PEERS, load_record
from rayfleet.local.state import State

PEER_GRACE = 5.0
HOLDER_GRACE = 15.0
# Objects stay, and with them what their users know: ports, tokens, the authority.
KEPT = ("objects", "credentials", "ports.json", "lock")


class Ended(msgspec.Struct, frozen=True):
    """What `down` found and did. `left` names what could not be ended: it must be empty."""

    ran: bool
    processes: int
    left: tuple[str, ...]


def end(state: State, *, keep: bool = False) -> Ended:
    """End the fleet of a state directory. Without `keep` the directory goes too."""
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
        left = (*leftovers.living(inside), *leftovers.mounts(state.path))
        remove(state, keep)
        return Ended(holder is not None, len(inside), left)


def remove(state: State, keep: bool) -> None:
    for entry in state.path.iterdir():
        if keep and entry.name in KEPT:
            continue
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name != "lock":
            entry.unlink()
    if not keep:
        state.lock.unlink()
        state.path.rmdir()
