"""Time as a thing that is handed in: whoever tests, or simulates, hands in another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Call nothing after all."""


class Clock(Protocol):
    """Seconds. `time` is the wall's (since 1970, may jump), `monotonic` never goes back; they have no common origin."""

    def time(self) -> float: ...
    def monotonic(self) -> float: ...
    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock and the running event loop's timers."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, function)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM = SystemClock()
