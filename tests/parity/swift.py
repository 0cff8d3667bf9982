"""A clock that runs faster than the machine's, for the operator alone: minutes of back-off pass in seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rayfleet.runtime.clock import Timer


class SwiftClock:
    """`rate` of its seconds pass in one of the machine's. It begins at `wall` (seconds since 1970), or now."""

    def __init__(self, rate: float, wall: float | None = None) -> None:
        self.rate = rate
        self._start = time.monotonic()
        self._wall = time.time() if wall is None else wall

    def time(self) -> float:
        return self._wall + self.monotonic()

    def monotonic(self) -> float:
        return (time.monotonic() - self._start) * self.rate

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds / self.rate, function)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.rate)
