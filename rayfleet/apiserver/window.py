"""The recent past: the changes that a watch may still start from, kept per resource."""

from __future__ import annotations

from collections import deque
from itertools import takewhile

from rayfleet.apiserver.record import Change


class Window:
    """The last `limit` changes of each resource. Versions before `start` (the server's own) are unknown."""

    def __init__(self, start: int, limit: int) -> None:
        self._start = start
        self._limit = limit
        self._changes: dict[str, deque[Change]] = {}
        self._floors: dict[str, int] = {}

    def append(self, change: Change) -> None:
        changes = self._changes.setdefault(change.record.resource, deque())
        changes.append(change)
        if len(changes) > self._limit:
            self._floors[change.record.resource] = changes.popleft().version

    def since(self, resource: str, version: int) -> list[Change] | None:
        """The changes after `version`, oldest first; None when some of them are forgotten."""
        if version < self._floors.get(resource, self._start):
            return None
        newer = list(takewhile(lambda change: change.version > version, reversed(self._changes.get(resource, ()))))
        newer.reverse()
        return newer
