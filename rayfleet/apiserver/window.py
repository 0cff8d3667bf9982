"""The recent past: the changes that a watch may still start from, kept per resource."""

from __future__ import annotations

from collections import deque
from itertools import takewhile

from rayfleet.apiserver.record import Change

LARGEST = 1 << 28
"""bytes of objects that are kept for one resource"""


class Window:
    """The last `limit` changes of each resource, fewer where they are large. Versions before `start` (the server's own) are unknown."""

    def __init__(self, start: int, limit: int) -> None:
        self._start = start
        self._limit = limit
        self._changes: dict[str, deque[Change]] = {}
        self._sizes: dict[str, int] = {}
        self._floors: dict[str, int] = {}

    def append(self, change: Change) -> None:
        resource = change.record.resource
        changes = self._changes.setdefault(resource, deque())
        changes.append(change)
        size = self._sizes.get(resource, 0) + len(change.record.data)
        while len(changes) > self._limit or size > LARGEST:
            forgotten = changes.popleft()
            size -= len(forgotten.record.data)
            self._floors[resource] = forgotten.version
        self._sizes[resource] = size

    def since(self, resource: str, version: int) -> list[Change] | None:
        """The changes after `version`, oldest first; None when some of them are forgotten."""
        if version < self._floors.get(resource, self._start):
            return None
        newer = list(takewhile(lambda change: change.version > version, reversed(self._changes.get(resource, ()))))
        newer.reverse()
        return newer
