"""One thing that `rayfleet doctor` looked at."""

from __future__ import annotations

from typing import NamedTuple

OK, OFF, MISSING, UNKNOWN = "ok", "off", "missing", "unknown"


class Row(NamedTuple):
    """`state` is ok, off (a feature less), missing (nothing works without it) or unknown (it may not be read)."""

    area: str
    item: str
    state: str
    says: str
