"""Read your own writes: after a write an object is left alone until the caches show what was written.

A create or patch is seen when the informer's version has reached the one that the write returned; a delete when the object is gone, or
shows that it is going; either when a consistent list was begun after the write, and one of which nobody knows whether it took place only
then. A cache that stays behind is told to list again: a decision
is never taken on what is known to be stale.
Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/5647-stale-controller-mitigation
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from rayfleet.api.meta import Key
from rayfleet.runtime.clock import SYSTEM, Clock, Timer

log = logging.getLogger(__name__)

PATIENCE = 10.0
NEVER = 1 << 62  # a version that no cache reaches: only a list will do


class Source(Protocol):
    """What is asked of an informer."""

    resource_version: str
    listed_at: float

    def get(self, namespace: str, name: str) -> Any: ...
    def relist(self) -> None: ...
    def subscribe(self, handler: Callable[[Any, Any], None]) -> None: ...
    def on_progress(self, handler: Callable[[], None]) -> None: ...


@dataclass(slots=True)
class Expectation:
    """One write by `key` at `since` (monotonic) that the cache does not show yet."""

    key: Key
    since: float
    met: bool = False


class Horizon:
    """The writes that one informer does not show yet."""

    def __init__(self, source: Source, met: Callable[[Expectation], None]) -> None:
        self.source = source
        self._met = met
        self._versions: list[tuple[int, int, Expectation]] = []
        self._deletes: dict[str, list[Expectation]] = {}
        self._order = count()
        source.subscribe(self._changed)
        source.on_progress(self._progressed)

    def expect_version(self, expected: Expectation, version: str) -> bool:
        """False when it is visible already. Versions that are no numbers are visible after a new list only."""
        try:
            number = int(version)
        except ValueError:
            number = NEVER
            self.source.relist()
        if number <= number_of(self.source.resource_version):
            return False
        heapq.heappush(self._versions, (number, next(self._order), expected))
        return True

    def expect_gone(self, expected: Expectation, key: Key, uid: str) -> bool:
        """False when it is visible already."""
        found = self.source.get(*key)
        if found is None or found.metadata.uid != uid or found.metadata.deletion_timestamp:
            return False
        self._deletes.setdefault(uid, []).append(expected)
        return True

    def expect_list(self, expected: Expectation) -> None:
        heapq.heappush(self._versions, (NEVER, next(self._order), expected))

    def behind_since(self) -> float | None:
        """When the oldest write was made that is not visible yet."""
        everything = [expected for _, _, expected in self._versions] + [each for group in self._deletes.values() for each in group]
        return min((expected.since for expected in everything if not expected.met), default=None)

    def _changed(self, old: Any, new: Any) -> None:
        if self._deletes and old is not None and (new is None or new.metadata.deletion_timestamp):
            for expected in self._deletes.pop(old.metadata.uid, ()):
                self._met(expected)

    def _progressed(self) -> None:
        if not self._versions and not self._deletes:
            return
        reached = number_of(self.source.resource_version)
        while self._versions and (self._versions[0][0] <= reached or self._versions[0][2].since <= self.source.listed_at):
            self._met(heapq.heappop(self._versions)[2])
        for uid, waiting in list(self._deletes.items()):
            if any(expected.since <= self.source.listed_at for expected in waiting):
                for expected in self._deletes.pop(uid):
                    self._met(expected)


class Visibility:
    """Says which keys must wait, and calls `ready(key)` when one that asked need wait no more."""

    def __init__(self, ready: Callable[[Key], None], clock: Clock = SYSTEM, patience: float = PATIENCE) -> None:
        self._ready = ready
        self._clock = clock
        self._patience = patience
        self._horizons: dict[int, Horizon] = {}
        self._unseen: dict[Key, int] = {}
        self._asked: set[Key] = set()
        self._timer: Timer | None = None

    def wrote(self, key: Key, source: Source, version: str) -> None:
        """A create or patch for `key` returned this version."""
        expected = Expectation(key, self._clock.monotonic())
        if self._horizon(source).expect_version(expected, version):
            self._count(key)

    def deleted(self, key: Key, source: Source, victim: Key, uid: str) -> None:
        """A delete for `key` was accepted."""
        expected = Expectation(key, self._clock.monotonic())
        if self._horizon(source).expect_gone(expected, victim, uid):
            self._count(key)

    def doubted(self, key: Key, source: Source) -> None:
        """Nobody knows whether a write for `key` took place, and the API does not say."""
        self._horizon(source).expect_list(Expectation(key, self._clock.monotonic()))
        self._count(key)

    def blocks(self, key: Key) -> bool:
        """Must this key wait? If so, `ready(key)` will follow."""
        if key not in self._unseen:
            return False
        self._asked.add(key)
        return True

    def _horizon(self, source: Source) -> Horizon:
        horizon = self._horizons.get(id(source))
        if horizon is None:
            horizon = self._horizons[id(source)] = Horizon(source, self._meet)
        return horizon

    def _count(self, key: Key) -> None:
        self._unseen[key] = self._unseen.get(key, 0) + 1
        if self._timer is None:
            self._timer = self._clock.call_later(self._patience, self._look)

    def _meet(self, expected: Expectation) -> None:
        expected.met = True
        left = self._unseen[expected.key] - 1
        if left:
            self._unseen[expected.key] = left
            return
        del self._unseen[expected.key]
        if expected.key in self._asked:
            self._asked.discard(expected.key)
            self._ready(expected.key)

    def _look(self) -> None:
        """Has any cache been behind for too long?"""
        self._timer = None
        now = self._clock.monotonic()
        for horizon in self._horizons.values():
            since = horizon.behind_since()
            if since is not None and now - since >= self._patience:
                log.warning("a cache has been behind our own writes for %.0f s; listing again", now - since)
                horizon.source.relist()
        if self._unseen:
            self._timer = self._clock.call_later(self._patience, self._look)


def number_of(version: str) -> int:
    try:
        return int(version)
    except ValueError:
        return -1
