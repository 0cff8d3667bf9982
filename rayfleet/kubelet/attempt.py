"""One life of a container, as the shim recorded it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)
LOST = 137  # what a container's exit code is when nobody saw its end


class Attempt(msgspec.Struct, frozen=True, omit_defaults=False):
    """Times are seconds since 1970; `error` says why it could not be started."""

    name: str
    attempt: int
    uid: str
    init: bool
    started_at: float
    finished_at: float | None = None
    exit_code: int | None = None
    signal: int = 0
    error: str = ""
    oom_killed: bool = False

    @property
    def running(self) -> bool:
        return self.finished_at is None


History = tuple[Attempt, ...]


def read_histories(directory: Path) -> dict[str, History]:
    """The recorded attempts of a Pod's directory by container, oldest first. A record that a power cut has damaged counts as none."""
    found: dict[str, list[Attempt]] = {}
    for path in directory.glob("containers/*/*.json"):
        try:
            attempt = msgspec.json.decode(path.read_bytes(), type=Attempt)
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("%s is damaged: %s", path, error)
            continue
        found.setdefault(attempt.name, []).append(attempt)
    return {name: tuple(sorted(attempts, key=lambda one: one.attempt)) for name, attempts in found.items()}


def with_attempt(histories: Mapping[str, History], new: Attempt) -> dict[str, History]:
    """The histories after the attempt was recorded, or recorded again. A start that is heard of after the end changes nothing."""
    before = histories.get(new.name, ())
    if new.running and any(one.attempt == new.attempt for one in before):
        return dict(histories)
    return {**histories, new.name: (*(one for one in before if one.attempt != new.attempt), new)}
