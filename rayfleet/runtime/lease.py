"""Leader election on a coordination Lease, so that one of several processes writes.

The right to write ends by this process' own monotonic clock, `renew_deadline` after the last renewal was *sent*: it does not depend on
hearing that it was lost. Others take over only when the lease has not changed for its whole duration by their own clocks. There is no
fencing at the API server, so correctness never rests on the lease (names are fences); it saves work. Before a process leads it waits for
operators that hold such a lease elsewhere (see `rivals`).
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
from rayfleet.runtime.rivals import HOLDER, WATCHES, Rivals, holder_of, marks

log = logging.getLogger(__name__)

NAME = "ray-operator-leader"
"""KubeRay's, so that the two exclude each other."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Seconds: others wait `duration`, we give up after `renew_deadline`, and try every `retry`. `identity` is this process' own name.

    `watched` are the namespaces that the process looks after, () for all.
    """

    namespace: str
    name: str = NAME
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}-{secrets.token_hex(4)}")
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0
    watched: tuple[str, ...] = ()

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
        self._rivals = Rivals(client, settings.name, settings.namespace, settings.watched, clock)
        self.waiting_for = ""
        """Another operator whose end is waited for, in words."""

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
        try:
            async with asyncio.timeout(1.0):
                await self._write("", 1.0)
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
        except (Conflict, NotFound):
            self._seen = None  # somebody wrote or deleted it: look again at the next attempt
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
        """Renew the lease, or take it when it is free and nobody else is in the way; False when it is not to be had."""
        place = self.settings
        if holder_of(self._seen) != place.identity:
            await self._look()
            if holder_of(self._seen) not in ("", place.identity) and not self._run_out():
                self.waiting_for = ""
                return False
        if self._holding.is_set():
            await self._write(place.identity, place.duration)
            return True
        if await self._must_wait():
            return False
        await self._write(place.identity, place.duration)
        if await self._must_wait():  # it looked when we did, before either had written: both make room, and try again at random
            await self._write("", 1.0)
            return False
        return True

    async def _must_wait(self) -> bool:
        """Is another operator in the way? Told when it changes."""
        found = await self._rivals.in_the_way()
        if found and found != self.waiting_for:
            log.warning("%s: this process waits until that ends", found)
        elif self.waiting_for and not found:
            log.info("no other operator looks after the same namespaces any more")
        self.waiting_for = found
        return bool(found)

    async def _look(self) -> None:
        """The lease as it is; None when there is none."""
        try:
            found = await self._client.get(LEASES, self.settings.name, self.settings.namespace)
        except NotFound:
            self._seen = None
            return
        if self._seen is None or found.get("spec") != self._seen.get("spec"):
            self._seen_at = self._clock.monotonic()
        self._seen = found

    async def _write(self, holder: str, duration: float) -> None:
        if self._seen is None:
            fresh = {"metadata": {"name": self.settings.name, "namespace": self.settings.namespace}}
            self._saw(await self._client.create(LEASES, self._body(fresh, holder, duration)))
        else:
            self._saw(await self._client.replace(LEASES, self._body(self._seen, holder, duration)))

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
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": self._metadata(lease, holder), "spec": spec}

    def _metadata(self, lease: dict[str, Any], holder: str) -> dict[str, Any]:
        """With what we look after; a lease that is given up says nothing, as its next holder may be another operator."""
        found = lease["metadata"]
        others = {name: value for name, value in (found.get("annotations") or {}).items() if name not in (HOLDER, WATCHES)}
        return {**found, "annotations": others | (marks(holder, self.settings.watched) if holder else {})}


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
