"""A clock that runs faster than the machine's, for the operator alone: minutes of back-off pass in seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rayfleet.runtime.clock import Timer

TICK, TURN = 0.02, 0.025
"""Of the machine's seconds: between two looks at its clock, and what passes between two of them at most."""
NEARLY = 1e-6


class SwiftClock:
    """`rate` of its seconds pass in one of the machine's, but none while this process has to wait for a processor: then nobody could do in
    time what is to be done. It begins at `wall` (seconds since 1970), or now. For one event loop."""

    def __init__(self, rate: float, wall: float | None = None) -> None:
        self.rate = rate
        self._wall = time.time() if wall is None else wall
        self._passed = 0.0
        self._seen = time.monotonic()
        self._tick()

    def _tick(self) -> None:
        self.monotonic()
        asyncio.get_running_loop().call_later(TICK, self._tick)

    def time(self) -> float:
        return self._wall + self.monotonic()

    def monotonic(self) -> float:
        now = time.monotonic()
        self._passed += min(now - self._seen, TURN) * self.rate
        self._seen = now
        return self._passed

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        return Due(self, self.monotonic() + seconds, function)

    async def sleep(self, seconds: float) -> None:
        over = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: over.done() or over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()


class Due:
    """What is to be called at a time of the clock's."""

    def __init__(self, clock: SwiftClock, at: float, function: Callable[[], object]) -> None:
        self._clock, self._at, self._function = clock, at, function
        self._wait()

    def _wait(self) -> None:
        left = max(self._at - self._clock.monotonic(), 0.0) / self._clock.rate
        self._timer = asyncio.get_running_loop().call_later(left, self._fire)

    def _fire(self) -> None:
        if self._at - self._clock.monotonic() > NEARLY:
            self._wait()
        else:
            self._function()

    def cancel(self) -> None:
        self._timer.cancel()
