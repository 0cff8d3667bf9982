"""Events (events.k8s.io/v1) about our objects, without flooding anybody.

What is told again within five minutes becomes a series: one write counts all repeats of five minutes. Telling never waits: events go
through a bounded queue of their own, and what does not fit is dropped and counted.
https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from rayfleet.api.meta import EVENTS, ObjectMeta, Resource
from rayfleet.kube.errors import ApiError, NotFound, TooManyRequests, Unreachable
from rayfleet.permit import Shut
from rayfleet.planning.plan import Event
from rayfleet.runtime.clock import SYSTEM, Clock, Timer
from rayfleet.runtime.gate import Gate, Write

log = logging.getLogger(__name__)

WINDOW = 300.0
REMEMBERED = 4096
QUEUED = 5000
SENDERS = 8
ATTEMPTS = 3
CONTROLLER = "rayfleet"


@dataclass(slots=True, eq=False)
class Series:
    """One event and its repeats. Times are monotonic; `told` of `times` are known to the API server."""

    resource: Resource
    regarding: ObjectMeta
    event: Event
    name: str
    first: float
    last: float
    written: float
    times: int = 1
    told: int = 0


class Recorder:
    """`count_event(outcome)` hears of each event: created, repeated, dropped or refused. `run` it in a task."""

    def __init__(
        self,
        gate: Gate,
        *,
        instance: str,
        clock: Clock = SYSTEM,
        count_event: Callable[[str], None] = lambda outcome: None,
        room: int = QUEUED,
    ) -> None:
        self._gate = gate
        self._instance = instance
        self._clock = clock
        self._count = count_event
        self._known: OrderedDict[tuple[str, str, str], Series] = OrderedDict()
        self._repeated: set[Series] = set()
        self._queue: asyncio.Queue[Series] = asyncio.Queue(room)
        self._timer: Timer | None = None
        self._serial = count()

    def record(self, resource: Resource, regarding: ObjectMeta, event: Event) -> None:
        """Tell of an object. Returns at once."""
        now = self._clock.monotonic()
        identity = (regarding.uid, event.reason, event.note)
        series = self._known.get(identity)
        if series is not None and now - series.last <= WINDOW:
            series.times += 1
            series.last = now
            self._known.move_to_end(identity)
            self._repeated.add(series)
            self._arm(now)
            return
        name = f"{regarding.name[:200]}.{int(self._clock.time() * 1e6):x}{next(self._serial) % 0x100000:05x}"
        series = Series(resource, regarding, event, name, now, now, now)
        self._known[identity] = series
        if len(self._known) > REMEMBERED:
            self._repeated.discard(self._known.popitem(last=False)[1])
        self._put(series)

    async def run(self) -> None:
        """Send what is recorded, for ever."""
        await asyncio.gather(*(self._send_all() for _ in range(SENDERS)))

    async def flushed(self) -> None:
        """Wait until everything that was recorded is sent (repeats that wait for their window are not waited for)."""
        await self._queue.join()

    def _put(self, series: Series) -> None:
        try:
            self._queue.put_nowait(series)
        except asyncio.QueueFull:
            self._count("dropped")

    def _arm(self, now: float) -> None:
        if self._timer is None and self._repeated:
            due = min(series.written for series in self._repeated) + WINDOW
            self._timer = self._clock.call_later(max(due - now, 1.0), self._repeats_due)

    def _repeats_due(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        for series in sorted((series for series in self._repeated if now - series.written >= WINDOW), key=lambda series: series.name):
            self._repeated.discard(series)
            series.written = now
            self._put(series)
        self._arm(now)

    async def _send_all(self) -> None:
        while True:
            series = await self._queue.get()
            try:
                await self._send(series)
            finally:
                self._queue.task_done()

    async def _send(self, series: Series) -> None:
        for attempt in range(ATTEMPTS):
            try:
                await self._gate.send(self._write(series))
            except NotFound:
                if not series.told:
                    self._count("refused")  # its namespace is gone
                    return
                series.told = 0  # the API server has forgotten it: tell it afresh
            except (TooManyRequests, Unreachable) as error:
                await self._clock.sleep(max(error.retry_after or 0.0, 0.5 * 2.0**attempt))
            except ApiError as error:
                log.info("an event was refused: %s", error, extra={"object": str(series.regarding.key)})
                self._count("refused")
                return
            except Shut:
                self._count("dropped")
                return
            else:
                self._count("repeated" if series.told else "created")
                series.told = series.times
                return
        self._count("dropped")

    def _write(self, series: Series) -> Write:
        namespace = series.regarding.namespace or "default"
        if series.told:
            body = {"series": {"count": series.times, "lastObservedTime": self._wall(series.last)}}
            return Write("patch", EVENTS, namespace, series.name, body)
        return Write("create", EVENTS, namespace, series.name, self._manifest(series, namespace))

    def _manifest(self, series: Series, namespace: str) -> dict[str, Any]:
        event, about = series.event, series.regarding
        manifest: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": series.name, "namespace": namespace},
            "eventTime": self._wall(series.first),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": event.note,
            "regarding": {
                "apiVersion": series.resource.api_version,
                "kind": series.resource.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
        }
        if series.times > 1:
            manifest["series"] = {"count": series.times, "lastObservedTime": self._wall(series.last)}
        return manifest

    def _wall(self, monotonic: float) -> str:
        """metav1.MicroTime of a moment that was noted by the monotonic clock."""
        seconds = self._clock.time() - (self._clock.monotonic() - monotonic)
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
