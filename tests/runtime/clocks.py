"""A clock that moves only when told to."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count


class ManualClock:
    def __init__(self, start: float = 1000.0) -> None:
        self.now = start
        self._calls: list[tuple[float, int, Callable[[], object], list[bool]]] = []
        self._order = count()

    def time(self) -> float:
        return 1_767_225_600.0 + self.now

    def monotonic(self) -> float:
        return self.now

    def call_later(self, seconds: float, function: Callable[[], object]) -> ManualTimer:
        live = [True]
        heapq.heappush(self._calls, (self.now + seconds, next(self._order), function, live))
        return ManualTimer(live)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: done.done() or done.set_result(None))
        try:
            await done
        finally:
            timer.cancel()

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody act on it at the moment it is due."""
        end = self.now + seconds
        while self._calls and self._calls[0][0] <= end:
            due, _, function, live = heapq.heappop(self._calls)
            self.now = max(self.now, due)
            if live[0]:
                function()
            await settle()
        self.now = end
        await settle()

    @property
    def waiting(self) -> list[float]:
        """The times from now of all calls that are to come."""
        return sorted(due - self.now for due, _, _, live in self._calls if live[0])


class ManualTimer:
    def __init__(self, live: list[bool]) -> None:
        self._live = live

    def cancel(self) -> None:
        self._live[0] = False


async def settle() -> None:
    """Let every task run that can without I/O."""
    for _ in range(20):
        await asyncio.sleep(0)
