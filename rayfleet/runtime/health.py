"""`/healthz` (is the process alive, or should it be restarted?), `/readyz` (does it see its world?), `/metrics`.

A loop that is stuck cannot answer at all, which a probe notices; one that was stuck for long, or a look that never ends, is said here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from aiohttp import web

from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.metrics import Metrics

BEAT = 5.0
STUCK = 15.0
REMEMBERED = 60.0

Check = Callable[[], str]


class Health:
    """Checks give "" when all is well, else what is wrong."""

    def __init__(self, metrics: Metrics, clock: Clock = SYSTEM) -> None:
        self._metrics = metrics
        self._clock = clock
        self._alive: list[Check] = [self._loop]
        self._ready: list[Check] = []
        self._expected = clock.monotonic()
        self._stuck_until = float("-inf")
        self._runners: list[web.AppRunner] = []
        self.ports: list[int] = []

    @property
    def port(self) -> int:
        """Of the first address; 0 before it is served."""
        return self.ports[0] if self.ports else 0

    def alive_if(self, check: Check) -> None:
        self._alive.append(check)

    def ready_if(self, check: Check) -> None:
        self._ready.append(check)

    async def beat(self) -> None:
        """Run this in a task: it notices when the loop did not let it run for long."""
        while True:
            self._expected = self._clock.monotonic() + BEAT
            await self._clock.sleep(BEAT)
            if self._clock.monotonic() - self._expected > STUCK:
                self._stuck_until = self._clock.monotonic() + REMEMBERED

    async def start(self, host: str, port: int, *, metrics: bool = True) -> None:
        """Serve the probes there, and metrics too unless told not to. Raises OSError when the port is taken; port 0 takes a free one.

        May be called for several addresses; `ports` has theirs in order.
        """
        app = web.Application()
        app.router.add_get("/healthz", lambda request: answer(self._alive))
        app.router.add_get("/readyz", lambda request: answer(self._ready))
        if metrics:
            app.router.add_get("/metrics", self._scrape)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        self._runners.append(runner)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        self.ports.append(runner.addresses[0][1])

    async def stop(self) -> None:
        while self._runners:
            with suppress(OSError):
                await self._runners.pop().cleanup()

    def _loop(self) -> str:
        now = self._clock.monotonic()
        if now < self._stuck_until or now - self._expected > STUCK:
            return "the event loop was stuck for more than 15 seconds within the last minute"
        return ""

    async def _scrape(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def answer(checks: list[Check]) -> web.Response:
    wrong = [text for check in checks if (text := check())]
    return web.Response(text="\n".join(wrong or ["ok"]) + "\n", status=503 if wrong else 200)
