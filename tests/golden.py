"""Files that hold what is to be told. RAYFLEET_UPDATE_TRANSCRIPTS=1 writes them anew, to be reviewed like code."""

from __future__ import annotations

import os
from pathlib import Path

UPDATE = bool(os.environ.get("RAYFLEET_UPDATE_TRANSCRIPTS"))


def recorded(path: Path, told: str) -> str:
    """What the file says; `told` becomes that when it is written anew."""
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(told)
    return path.read_text()
