"""Puts the parts together, and takes them apart in order: caches first, then the lease, then controllers; and the reverse.

A kind whose resource is not served yet waits for it, and holds up no other kind.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from rayfleet.api.meta import ObjectMeta, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.planning.actions import Create, Place
from rayfleet.runtime.apply import Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.controller import Controller
from rayfleet.runtime.errands import Errands
from rayfleet.runtime.events import Recorder
from rayfleet.runtime.gate import Answer, Gate, Hook, Write, nothing
from rayfleet.runtime.health import Health
from rayfleet.runtime.informer import Informer
from rayfleet.runtime.kind import Child, Kind
from rayfleet.runtime.lease import Elector, LeaseSettings
from rayfleet.runtime.metrics import Metrics
from rayfleet.runtime.queue import Dispenser, Pace, WorkQueue
from rayfleet.runtime.visibility import PATIENCE, Visibility

log = logging.getLogger(__name__)

LONGEST_LOOK = 600.0
FLUSH = 0.5


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """No `namespaces` means all; `workers` counts in each that is named. `health` is where to serve probes and metrics (host, port),
    `probes` where to serve probes alone. Without a lease this process always leads.

    `patience` is how long a cache may be behind our own writes before it is listed again, `timeout` the deadline of a request (seconds).
    """

    namespaces: tuple[str, ...] = ()
    workers: int = 16
    lease: LeaseSettings | None = None
    health: tuple[str, int] | None = None
    probes: tuple[str, int] | None = None
    identity: str = field(default_factory=socket.gethostname)
    pace: Pace = field(default_factory=Pace)
    patience: float = PATIENCE
    timeout: float = 30.0
    user_agent: str = "rayfleet"


class Manager:
    """One operator process. `hook` is the gate's (see `gate.Gate`)."""

    def __init__(
        self,
        connection: Connection,
        kinds: Sequence[Kind[Any]],
        settings: ManagerSettings = ManagerSettings(),
        *,
        clock: Clock = SYSTEM,
        hook: Hook = nothing,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics(host=urlsplit(connection.server).netloc, lease=settings.lease.name if settings.lease else "")
        self.health = Health(self.metrics, clock)
        self.client = Client(
            connection, user_agent=settings.user_agent, timeout=settings.timeout, on_warning=warned, on_answer=self.metrics.answered
        )
        self.elector = Elector(self.client, settings.lease, clock) if settings.lease else None
        self.gate = Gate(self.client, is_open=self.may_write, hook=hook, told=self._wrote)
        self.recorder = Recorder(self.gate, instance=settings.identity, clock=clock, count_event=self.metrics.event)
        self._clock = clock
        self._stopping = asyncio.Event()
        self._informers: dict[tuple[Resource, str, Any, bool, str | None], Informer[Any]] = {}
        self.controllers = [self._controller(kind, place) for place in settings.namespaces or (None,) for kind in kinds]
        self.health.ready_if(self._unsynced)
        self.health.ready_if(self._waiting)
        self.health.alive_if(self._endless_look)

    def may_write(self) -> bool:
        return self.elector is None or self.elector.held()

    def stop(self) -> None:
        """Ask `run` to end."""
        self._stopping.set()

    async def run(self, *, signals: bool = False) -> None:
        """Work until `stop` is called (or SIGTERM or SIGINT come, with `signals`). Raises what a part of it died of."""
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.stop)
        if self.settings.health:
            await self.health.start(*self.settings.health)
        if self.settings.probes:
            await self.health.start(*self.settings.probes, metrics=False)
        tasks = [asyncio.create_task(part) for part in self._parts()]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._take_apart(tasks, stopping)
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    def _parts(self) -> list[Any]:
        """The first one is stopped first: it is the one that writes."""
        parts = [self._lead_for_ever() if self.elector else self._lead()]
        parts += [self.recorder.run(), self.health.beat()]
        if self.elector:
            parts.append(self.elector.run())
        return parts + [informer.run() for informer in self._informers.values()]

    async def _take_apart(self, tasks: list[asyncio.Task[Any]], stopping: asyncio.Task[Any]) -> None:
        stopping.cancel()
        await ended(tasks[0])
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH):
                await self.recorder.flushed()
        if self.elector:
            await self.elector.release()
        for task in tasks[1:]:
            await ended(task)
        await self.health.stop()
        await self.client.close()

    async def _lead_for_ever(self) -> None:
        assert self.elector is not None
        while True:
            await self.elector.acquired()
            leading = asyncio.create_task(self._lead())
            lost = asyncio.create_task(self.elector.lost())
            try:
                await asyncio.wait((leading, lost), return_when=asyncio.FIRST_COMPLETED)
                if leading.done():
                    leading.result()
            finally:
                self.metrics.lead(False)
                lost.cancel()
                await ended(leading)

    async def _lead(self) -> None:
        self.metrics.lead(True)
        controllers = [asyncio.create_task(self._control(controller)) for controller in self.controllers]
        try:
            await asyncio.gather(*controllers)
        finally:
            await asyncio.gather(*(ended(task) for task in controllers))

    async def _control(self, controller: Controller[Any]) -> None:
        """One kind, from a view that is not older than our right to write."""
        if self.elector:
            await asyncio.gather(*(informer.refreshed() for informer in controller.informers.values()))
        await controller.synced()
        log.info("%s is being looked after", controller.kind.title)
        await controller.run()

    def _controller(self, kind: Kind[Any], place: str | None) -> Controller[Any]:
        """Each namespace that is named has controllers of its own, so that one that cannot be read holds up no other."""
        itself = Child(kind.resource, kind.type, decode=kind.decode, required=kind.required)
        informers = {each.resource: self._informer(each, place, on_demand=not (each.required or each.owns)) for each in kind.children}
        informers[kind.resource] = self._informer(itself, place)
        queue = Dispenser(WorkQueue(self.settings.pace), self._clock)
        visibility = Visibility(queue.add, self._clock, self.settings.patience)
        backoffs = Backoffs()
        applier = Applier(kind.resource, self.gate, informers, visibility, backoffs, self.recorder.record, self._lookup, self._clock)
        metrics = self.metrics.of_kind(kind.title, queue)
        errands = None
        if kind.outside:
            errands = Errands(kind.resource, kind.outside, backoffs, self.recorder.record, self.may_write, self._clock)
        controller = Controller(
            kind,
            informers,
            applier,
            queue,
            visibility,
            backoffs,
            metrics,
            workers=self.settings.workers,
            clock=self._clock,
            errands=errands,
            is_sole=self.elector is not None,
        )
        controller.attach()
        metrics.watch(controller.longest_look, controller.active, self.settings.workers)
        if kind.measure:
            self.metrics.measure(kind.measure, informers[kind.resource].values())
        return controller

    def _informer(self, child: Child, place: str | None, *, on_demand: bool = False) -> Informer[Any]:
        """Kinds that watch the same objects in the same form share one cache. A child that may be unknown here is asked for again by looks
        alone, so that nothing is asked at rest."""
        identity = (child.resource, child.labels, child.decode or child.type, child.required, on_demand, place)
        informer = self._informers.get(identity)
        if informer is None:
            informer = Informer(
                self.client,
                child.resource,
                child.type,
                namespace=place,
                labels=child.labels,
                decode=child.decode,
                clock=self._clock,
                required=child.required,
                on_demand=on_demand,
                metadata_only=child.metadata_only,
            )
            self._informers[identity] = informer
            self.metrics.watch_cache(child.resource.kind, informer.values().__len__)
        return informer

    async def _lookup(self, action: Create | Place) -> ObjectMeta:
        found: Answer = await self.client.get(action.resource, action.name, action.namespace or None, type=Answer, metadata_only=True)
        return found.metadata

    def _wrote(self, write: Write, outcome: str) -> None:
        self.metrics.wrote(write.resource.kind, write.verb, outcome)

    def _unsynced(self) -> str:
        missing = {informer.resource.plural for informer in self._informers.values() if not informer.has_synced}
        return f"not listed yet: {', '.join(sorted(missing))}" if missing else ""

    def _waiting(self) -> str:
        """A spare replica is ready; one whose Deployment waits for another operator is not."""
        return f"waiting: {self.elector.waiting_for}" if self.elector and self.elector.waiting_for else ""

    def _endless_look(self) -> str:
        slow = [controller for controller in self.controllers if controller.longest_look() > LONGEST_LOOK]
        return f"a look at a {slow[0].kind.title} has not ended for 10 minutes" if slow else ""


def warned(path: str, text: str) -> None:
    log.warning("the API server warns of %s: %s", path, text)


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end, however it ends."""
    task.cancel()
    await asyncio.wait([task])
