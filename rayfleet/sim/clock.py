"""Virtual time: an event loop that never waits. When nothing is left to do now, the clock jumps to the next thing that is due.

Everything runs in one thread in an order that depends on nothing outside, so the same seed gives the same story.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

START = 1767225600.0  # 2026-01-01T00:00:00Z
MANY = 100  # timers, of which those that were cancelled are thrown away once they are the most


class VirtualLoop(asyncio.BaseEventLoop):
    """Its time starts at 0: near 2e9 a float is too coarse for the loop's own arithmetic."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        """As the base class has it, without what only waiting, other threads and debugging need: a storm goes through it 3,000 times. Where
        that would wait, the clock jumps; when nothing is due any more the loop stops."""
        scheduled, ready = self._scheduled, self._ready
        if len(scheduled) > MANY and self._timer_cancelled_count > len(scheduled) / 2:
            for handle in scheduled:
                handle._scheduled = not handle._cancelled
            scheduled = self._scheduled = [handle for handle in scheduled if handle._scheduled]
            heapq.heapify(scheduled)
            self._timer_cancelled_count = 0
        while scheduled and scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False
        if not ready and not self._stopping:
            if scheduled:
                self.now += max(scheduled[0]._when - self.now, 0.0)
            else:
                self.stop()
        due = self.now + self._clock_resolution
        while scheduled and scheduled[0]._when < due:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _process_events(self, event_list: list[Any]) -> None:
        """There is nothing outside that could send any."""

    def _write_to_self(self) -> None:
        """Nobody else's thread will wake it."""


class VirtualClock:
    """Seconds since 1970, as the runtime wants its clock."""

    def __init__(self, start: float = START) -> None:
        self.start = start
        self.loop = VirtualLoop()
        self.error: BaseException | None = None
        self.loop.set_exception_handler(self._failed)

    @property
    def now(self) -> float:
        return self.start + self.loop.now

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.loop.now

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.loop.now

    def call_later(self, seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
        return self.loop.call_later(max(seconds, 0.0), function)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def task(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self.loop.create_task(coroutine)

    def spawn(self, process: Iterator[float]) -> None:
        """Run a process that yields the seconds it waits, from now on until it ends."""
        for seconds in process:
            self.call_later(seconds, lambda: self.spawn(process))
            return

    def run(self, seconds: float) -> None:
        """Let so many seconds pass. Raises what went wrong in them."""
        end = self.loop.call_later(seconds, self.loop.stop)
        self.loop.run_forever()
        end.cancel()
        if self.error is not None:
            raise self.error

    def fail(self, error: BaseException) -> None:
        """Stop everything: the first error is the one that counts, whoever would have caught it."""
        self.error = self.error or error
        if self.loop.is_running():
            self.loop.stop()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.fail(context.get("exception") or RuntimeError(context["message"]))

    def close(self) -> None:
        """End what still runs, and give the loop back."""
        self.loop.set_exception_handler(lambda loop, context: None)
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()
