"""Leader election on a coordination Lease, so that one of several processes writes.

The right to write ends by this process' own monotonic clock, `renew_deadline` after the last renewal was *sent*: it does not depend on
hearing that it was lost. Others take over only when the lease has not changed for its whole duration by their own clocks. There is no
fencing at the API server, so correctness never rests on the lease (names are fences); it saves work.
Source: client-go's tools/leaderelection.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rayfleet.api.meta import LEASES
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Conflict, NotFound, Unreachable
from rayfleet.runtime.clock import SYSTEM, Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Seconds: others wait `duration`, we give up after `renew_deadline`, and try every `retry`. `identity` is this process' own name."""

    namespace: str
    name: str = "rayfleet"
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}-{secrets.token_hex(4)}")
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry < self.renew_deadline < self.duration:
            raise ValueError("a lease needs retry < renew deadline < duration")


class Elector:
    """`run` it in a task; `held()` says whether this process may write right now."""

    def __init__(self, client: Client, settings: LeaseSettings, clock: Clock = SYSTEM, dice: Callable[[], float] = random.random) -> None:
        self.settings = settings
        self._client = client
        self._clock = clock
        self._dice = dice
        self._valid_until = float("-inf")
        self._seen: dict[str, Any] | None = None
        self._seen_at = float("-inf")
        self._holding = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()

    def held(self) -> bool:
        return self._clock.monotonic() < self._valid_until

    async def acquired(self) -> None:
        """Wait until this process leads."""
        await self._holding.wait()

    async def lost(self) -> None:
        """Wait until this process leads no more."""
        await self._lost.wait()

    async def run(self) -> None:
        """Try to become the leader, stay it, and try again after a loss; for ever."""
        while True:
            await self._attempt()
            self._notice_end()
            await self._clock.sleep(self._pause())
            self._notice_end()  # before the next attempt: who leads again begins afresh

    async def release(self) -> None:
        """Give the lease up, so that another need not wait. Errors are logged: it runs out anyway."""
        if not self.held() or self._seen is None:
            return
        self._valid_until = float("-inf")
        self._step_down("it was given up", logging.INFO)
        body = self._body(self._seen, holder="", duration=1.0)
        try:
            async with asyncio.timeout(1.0):
                await self._client.replace(LEASES, body)
        except (ApiError, TimeoutError) as error:
            log.info("the lease could not be given up, and will run out: %s", error)

    def _pause(self) -> float:
        """While leading: no longer than the right to write lasts, so that its end is noticed when it comes."""
        pause = self.settings.retry * (1.0 if self.held() else 1.0 + 0.2 * self._dice())
        return min(pause, max(self._valid_until - self._clock.monotonic(), 0.01)) if self.held() else pause

    def _deadline(self) -> float:
        """For one attempt: half of what renewing may take, which leaves room for another, and never beyond the right to write."""
        half = self.settings.renew_deadline / 2
        return min(half, max(self._valid_until - self._clock.monotonic(), 0.01)) if self.held() else half

    async def _attempt(self) -> None:
        sent = self._clock.monotonic()
        try:
            taken = await within(self._clock, self._deadline(), self._take())
        except Conflict:
            self._seen = None  # somebody wrote it: look again at the next attempt
            return
        except ApiError as error:
            log.log(logging.WARNING if self._holding.is_set() else logging.INFO, "the lease cannot be written: %s", error)
            return
        if not taken:
            self._valid_until = float("-inf")
            if self._holding.is_set():
                self._step_down(f"{holder_of(self._seen)} holds it now")
            return
        self._valid_until = sent + self.settings.renew_deadline
        if not self._holding.is_set():
            log.info("this process leads (%s)", self.settings.identity)
            self._lost.clear()
            self._holding.set()

    def _notice_end(self) -> None:
        if self._holding.is_set() and not self.held():
            self._step_down("the lease could not be renewed in time")

    def _step_down(self, why: str, level: int = logging.WARNING) -> None:
        log.log(level, "this process leads no more: %s", why)
        self._holding.clear()
        self._lost.set()

    async def _take(self) -> bool:
        """Renew the lease, or take it when it is free; False when somebody else holds it."""
        place = self.settings
        if self._seen is None or holder_of(self._seen) != place.identity:
            try:
                await self._look()
            except NotFound:
                body = self._body({"metadata": {"name": place.name, "namespace": place.namespace}}, place.identity, place.duration)
                self._saw(await self._client.create(LEASES, body))
                return True
        assert self._seen is not None
        if holder_of(self._seen) not in ("", place.identity) and not self._run_out():
            return False
        self._saw(await self._client.replace(LEASES, self._body(self._seen, place.identity, place.duration)))
        return True

    async def _look(self) -> None:
        found = await self._client.get(LEASES, self.settings.name, self.settings.namespace)
        if self._seen is None or found.get("spec") != self._seen.get("spec"):
            self._seen_at = self._clock.monotonic()
        self._seen = found

    def _saw(self, lease: dict[str, Any]) -> None:
        self._seen = lease
        self._seen_at = self._clock.monotonic()

    def _run_out(self) -> bool:
        """By our own clock: has the lease not changed for as long as its holder asked for?"""
        duration = float(((self._seen or {}).get("spec") or {}).get("leaseDurationSeconds") or self.settings.duration)
        return self._clock.monotonic() >= self._seen_at + duration

    def _body(self, lease: dict[str, Any], holder: str, duration: float) -> dict[str, Any]:
        spec = dict(lease.get("spec") or {})
        now = datetime.fromtimestamp(self._clock.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if spec.get("holderIdentity") != holder:
            spec |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (1 if spec else 0)}
        spec |= {"holderIdentity": holder, "leaseDurationSeconds": max(1, round(duration)), "renewTime": now}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": lease["metadata"], "spec": spec}


def holder_of(lease: dict[str, Any] | None) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


async def within(clock: Clock, seconds: float, work: Any) -> bool:
    """The work's result; Unreachable when it takes longer."""
    task = asyncio.ensure_future(work)
    timer = clock.call_later(seconds, task.cancel)
    try:
        return bool(await task)
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current and current.cancelling():
            raise
        raise Unreachable(f"no answer within {seconds:g} s", "Timeout") from None
    finally:
        timer.cancel()
