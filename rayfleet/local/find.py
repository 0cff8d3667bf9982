"""Is there a fleet? Asked of the living, not of files: the holder is whoever listens on its socket."""

from __future__ import annotations

import socket

from rayfleet.local import door
from rayfleet.local.identity import Identity, identify
from rayfleet.local.spawn import CREDENTIALS, reach
from rayfleet.local.state import State


def find_holder(state: State) -> Identity | None:
    """The holder of this state directory, None when none lives. A socket left by a dead one, or by an earlier boot, refuses."""
    try:
        with reach(state.path / "holder.sock") as connection:
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    except OSError:
        return None
    return identify(CREDENTIALS.unpack(peer)[0])


def find_door(state: State) -> door.Record | None:
    """The living door, None when none lives."""
    record = door.load_record(state)
    return record if record and record.process.alive else None
