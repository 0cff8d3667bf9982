"""A port that must be the same as before, on a machine where others' fleets begin and end too."""

from __future__ import annotations

import socket


def is_same_port(before: int, now: int) -> bool:
    """True as well when somebody else has taken the port meanwhile: it was free for a moment."""
    if before == now:
        return True
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", before)) == 0
