"""Which object is looked at next.

A key waits at most once, is never handed out twice at the same time, and comes again if it was added while in work. Nobody starves:
namespaces take turns, and within one the keys go in order of arrival, those that are known before those that are new. A key that comes too
often is slowed down by its own bucket of tokens, one that fails by its own back-off. Keys only, never events: what happened is read from
the caches.

`WorkQueue` is plain data driven by the caller's clock; `Dispenser` waits for what it has to give.
Source of the rules: client-go's util/workqueue.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from rayfleet.api.meta import Key
from rayfleet.runtime.clock import SYSTEM, Clock, Timer


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one key may come. Seconds; `rate` is turns a second in the long run, `burst` turns may come at once.

    `beginnings` new keys may be in work at once: what is begun beyond what the rest of the world keeps up with only waits there.
    """

    rate: float = 2.0
    burst: int = 20
    beginnings: int = 4
    first_retry: float = 0.5
    longest_retry: float = 300.0


class Turns:
    """Keys that wait; namespaces take turns, and within one they go in order of arrival."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[Key]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._of)

    def append(self, key: Key) -> None:
        self._of.setdefault(key.namespace, deque()).append(key)

    def pop(self) -> Key:
        namespace, keys = next(iter(self._of.items()))
        key = keys.popleft()
        if keys:
            self._of.move_to_end(namespace)
        else:
            del self._of[namespace]
        return key


class WorkQueue:
    """Times are the caller's, in seconds, and must not go back."""

    def __init__(self, pace: Pace = Pace(), dice: Callable[[], float] = random.random) -> None:
        self._pace = pace
        self._dice = dice
        self._known = Turns()
        self._new = Turns()
        self._taken = 0
        self._beginning: set[Key] = set()
        self._waiting: set[Key] = set()  # those in _known and _new
        self._due: dict[Key, float] = {}  # those that are to come later
        self._timers: list[tuple[float, Key]] = []  # a heap; entries that _due does not confirm are stale
        self._working: set[Key] = set()
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._buckets: dict[Key, tuple[float, float]] = {}  # tokens left, and when that was

    def __len__(self) -> int:
        """How many keys wait for their turn now (not those that are in work or due later)."""
        return len(self._waiting)

    def add(self, key: Key, new: bool = False) -> None:
        """The key should be looked at, as soon as possible; `new`: nothing was ever done for it."""
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._due.pop(key, None)
            self._waiting.add(key)
            (self._new if new else self._known).append(key)

    def add_at(self, key: Key, at: float) -> bool:
        """The key should be looked at then; the earliest such wish counts. Must whoever waits be woken for it?"""
        if key in self._waiting or at >= self._due.get(key, float("inf")):
            return False
        self._due[key] = at
        heapq.heappush(self._timers, (at, key))
        return self._timers[0][0] == at

    def take(self, now: float) -> Key | None:
        """The next key, which is in work from now on; None when nothing is due."""
        self._ripen(now)
        while (turns := self._next()) is not None:
            key = turns.pop()
            self._waiting.discard(key)
            wait = self._pay(key, now)
            if wait > 0:
                self.add_at(key, now + wait)
                continue
            self._working.add(key)
            if turns is self._new:
                self._beginning.add(key)
            return key
        return None

    def _next(self) -> Turns | None:
        """What was begun is brought to its end before more is begun, but for every fourth turn."""
        may_begin = bool(self._new) and len(self._beginning) < self._pace.beginnings
        if not self._known:
            return self._new if may_begin else None
        self._taken += 1
        return self._new if may_begin and self._taken % 4 == 0 else self._known

    def done(self, key: Key) -> None:
        """The work on a key has ended. It comes again at once if it was added meanwhile."""
        self._working.discard(key)
        self._beginning.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def retry(self, key: Key, now: float) -> float:
        """The work on a key has failed: let it come again later, each time later than before. Gives the delay in seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(self._pace.first_retry * 2.0 ** min(failures - 1, 20), self._pace.longest_retry)
        delay *= 1.0 + 0.25 * self._dice()  # upwards only: no more than twelve attempts an hour in the long run
        self.add_at(key, now + delay)
        return delay

    def succeeded(self, key: Key) -> None:
        """Forget the key's failures."""
        self._failures.pop(key, None)

    def forget(self, key: Key) -> None:
        """The object is gone: nothing is remembered of it. A key that waits or is in work still runs its course."""
        self._failures.pop(key, None)
        self._buckets.pop(key, None)
        self._due.pop(key, None)

    def refund(self, key: Key) -> None:
        """The turn was not used after all."""
        if key in self._buckets:
            tokens, since = self._buckets[key]
            self._buckets[key] = (tokens + 1, since)

    def next_at(self) -> float | None:
        """When `take` gives something: -inf for now, None for never as things stand."""
        if self._known or (self._new and len(self._beginning) < self._pace.beginnings):
            return float("-inf")
        while self._timers and self._due.get(self._timers[0][1]) != self._timers[0][0]:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _ripen(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            at, key = heapq.heappop(self._timers)
            if self._due.get(key) == at:
                del self._due[key]
                self.add(key)

    def _pay(self, key: Key, now: float) -> float:
        """Take a token from the key's bucket; otherwise the seconds until there is one."""
        tokens, since = self._buckets.get(key, (float(self._pace.burst), now))
        tokens = min(self._pace.burst, tokens + (now - since) * self._pace.rate)
        if tokens < 1 - 1e-9:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / self._pace.rate
        self._buckets[key] = (tokens - 1, now)
        return 0.0


class Dispenser:
    """A queue whose keys are waited for. One consumer. `adds` and `retries` count what was asked of it."""

    def __init__(self, queue: WorkQueue, clock: Clock = SYSTEM) -> None:
        self._queue = queue
        self._clock = clock
        self._wake = asyncio.Event()
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, key: Key, new: bool = False) -> None:
        self.adds += 1
        self._queue.add(key, new)
        self._wake.set()

    def add_after(self, key: Key, seconds: float) -> None:
        if self._queue.add_at(key, self._clock.monotonic() + seconds):
            self._wake.set()

    def retry(self, key: Key) -> float:
        self.retries += 1
        delay = self._queue.retry(key, self._clock.monotonic())
        self._wake.set()
        return delay

    def done(self, key: Key) -> None:
        self._queue.done(key)
        self._wake.set()

    def succeeded(self, key: Key) -> None:
        self._queue.succeeded(key)

    def forget(self, key: Key) -> None:
        self._queue.forget(key)

    def refund(self, key: Key) -> None:
        self._queue.refund(key)

    async def get(self) -> Key:
        """The next key, as soon as one is due."""
        while True:
            self._wake.clear()
            now = self._clock.monotonic()
            key = self._queue.take(now)
            if key is not None:
                return key
            due = self._queue.next_at()
            timer: Timer | None = None if due is None else self._clock.call_later(max(0.0, due - now), self._wake.set)
            try:
                await self._wake.wait()
            finally:
                if timer:
                    timer.cancel()
