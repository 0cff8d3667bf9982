"""The loop of one kind: take a key, observe, plan, apply; at most `workers` objects at once, never one object twice.

```
 watch events --> queue --> wait until own writes show --> observe --> plan --> apply --+
                    ^                                                                   |
                    +---- requeue_after, back-off, actions done, status held back <-----+
```
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic

from rayfleet.api.meta import Key, ObjectMeta, OwnerReference, Resource, controller_of
from rayfleet.kube.errors import ApiError
from rayfleet.permit import Shut
from rayfleet.planning.plan import Plan
from rayfleet.runtime.apply import Applier, Outcome
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.errands import Errands
from rayfleet.runtime.gone import Gone
from rayfleet.runtime.informer import Informer
from rayfleet.runtime.kind import Child, Kind, O
from rayfleet.runtime.metrics import KindMetrics
from rayfleet.runtime.queue import Dispenser
from rayfleet.runtime.reader import Reader
from rayfleet.runtime.solitude import Solitude
from rayfleet.runtime.visibility import Visibility

log = logging.getLogger(__name__)

DRAIN = 3.0
CALM = 0.25  # seconds in which changes that can wait are gathered into one look


class Controller(Generic[O]):
    """`attach` it to the informers before they run; `run` it while this process may write."""

    def __init__(
        self,
        kind: Kind[O],
        informers: Mapping[Resource, Informer[Any]],
        applier: Applier,
        queue: Dispenser,
        visibility: Visibility,
        backoffs: Backoffs,
        metrics: KindMetrics,
        *,
        workers: int = 16,
        clock: Clock = SYSTEM,
        errands: Errands | None = None,
        is_sole: bool = False,
    ) -> None:
        self.kind = kind
        self.informers = informers
        self._applier = applier
        self._queue = queue
        self._visibility = visibility
        self._backoffs = backoffs
        self._gone = Gone(clock)
        self._solitude = Solitude(is_sole)
        self._reader = Reader(informers, backoffs, self._gone, self._solitude, clock)
        self._metrics = metrics
        self._workers = workers
        self._clock = clock
        self._errands = errands
        self._running: dict[asyncio.Task[None], float] = {}
        self._loop: asyncio.Task[Any] | None = None
        self._fatal: BaseException | None = None

    def attach(self) -> None:
        """Hear of changes."""
        self.informers[self.kind.resource].subscribe(self._owner_changed)
        for child in self.kind.children:
            self.informers[child.resource].subscribe(partial(self._hearer(child), child))
        if self._errands:
            self._errands.subscribe(self._heard_of)

    def _hearer(self, child: Child) -> Callable[[Child, Any, Any], None]:
        if child.owns:
            return self._parent_changed
        return self._grandchild_changed if child.through else self._child_changed

    async def synced(self) -> None:
        """Wait until everything that an observation reads has been listed."""
        for informer in self.informers.values():
            await informer.synced()

    async def run(self) -> None:
        """Look at every object once, then at whatever changes; until cancelled. Work under way is then given a moment to end."""
        for found in filter(self.kind.concerns, self.informers[self.kind.resource].values()):
            self._queue.add(found.metadata.key, new=True)
        self._solitude.begin()
        self._loop = asyncio.current_task()
        room = asyncio.Semaphore(self._workers)
        try:
            while True:
                await room.acquire()
                key = await self._queue.get()
                task = asyncio.create_task(self._look(key))
                self._running[task] = self._clock.monotonic()
                task.add_done_callback(lambda done: self._finished(done, room))
        except asyncio.CancelledError:
            if self._fatal is not None:
                raise self._fatal from None
            raise
        finally:
            await self._drain()

    def longest_look(self) -> float:
        """Seconds since the oldest look began that has not ended."""
        return self._clock.monotonic() - min(self._running.values(), default=self._clock.monotonic())

    def active(self) -> int:
        """How many looks are under way."""
        return len(self._running)

    async def _drain(self) -> None:
        self._loop = None
        self._solitude.end()
        tasks = set(self._running)
        if tasks:
            await asyncio.wait(tasks, timeout=DRAIN)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._errands:
            self._errands.rest()

    def _finished(self, task: asyncio.Task[None], room: asyncio.Semaphore) -> None:
        self._running.pop(task, None)
        room.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fatal = error  # not an Exception, or it would have been dealt with
            if self._loop is not None:
                self._loop.cancel()

    async def _look(self, key: Key) -> None:
        begun = time.perf_counter()
        result = "failed"
        try:
            result = await self._reconcile(key)
        except Shut:
            self._queue.retry(key)
        except ApiError as error:
            delay = self._queue.retry(key)
            log.warning("%s; again in %.1f s", error, delay, extra={"object": str(key)})
        except Exception:
            delay = self._queue.retry(key)
            log.exception("the look at this object failed; again in %.1f s", delay, extra={"object": str(key)})
        finally:
            self._queue.done(key)
            self._metrics.looked(result, time.perf_counter() - begun)

    async def _reconcile(self, key: Key) -> str:
        if self._visibility.blocks(key):
            self._queue.refund(key)
            return "waiting"
        observed_at = self._clock.monotonic()
        observed = await self.kind.observe(self._reader, key, self._clock.time())
        owner = self._reader.get(self.kind.resource, key)
        if owner is None:
            self._forget(key)
        if observed is None or owner is None:
            return "gone"
        plan = self.kind.plan(observed)
        outcome = await self._applier.apply(key, owner.metadata, plan)
        self._gone.made(owner.metadata.uid, outcome.made)
        self._again(key, plan, outcome)
        if self._errands and not outcome.failed and not outcome.stale:
            self._errands.send(key, owner.metadata, plan.calls)
        if plan.requeue_after is None and self._backoffs.settle(key, plan.scopes, observed_at):
            self._queue.add(key)
        self._metrics.troubled(key, len(self._backoffs.of(key, self._clock.monotonic())))
        return "done"

    def _again(self, key: Key, plan: Plan, outcome: Outcome) -> None:
        """When to look next, if nothing happens before."""
        if outcome.stale and not outcome.failed:
            self._queue.retry(key)
            return
        if outcome.later is None:  # a status that is held back has not proved itself yet
            self._queue.succeeded(key)
        if outcome.failed or outcome.done:
            self._queue.add(key)
        if outcome.later is not None:
            self._queue.add_after(key, outcome.later)
        if plan.requeue_after is not None:
            self._queue.add_after(key, plan.requeue_after)

    def _owner_changed(self, old: Any, new: Any) -> None:
        meta: ObjectMeta = (new or old).metadata
        if new is None:
            self._gone.forget(meta.uid)
            self._solitude.forget(meta.uid)
            self._forget(meta.key)
            return
        if old is None:
            self._solitude.appeared(meta.uid)
        elif old.metadata.generation != meta.generation:
            self._backoffs.hurry(meta.key, self._clock.monotonic())
        if not self._applier.is_echo(meta) and any(version is not None and self.kind.concerns(version) for version in (old, new)):
            self._add(meta.key, new=old is None)

    def _heard_of(self, key: Key) -> None:
        """From outside. Whoever is there serves the controllers of all namespaces: other ones' objects are not ours to forget."""
        if self.informers[self.kind.resource].get(*key) is not None:
            self._queue.add(key)

    def _add(self, key: Key, new: bool = False) -> None:
        """Look at it as soon as its own writes show: until then there is nothing to see."""
        if not self._visibility.blocks(key):
            self._queue.add(key, new)

    def _forget(self, key: Key) -> None:
        """Also when a look at a key finds nothing: one that was under way when the object went may have left something behind."""
        self._backoffs.forget(key)
        self._applier.forget(key)
        self._queue.forget(key)
        self._metrics.troubled(key, 0)
        if self._errands:
            self._errands.forget(key)

    def _parent_changed(self, child: Child, old: Any, new: Any) -> None:
        if not same(old, new):
            for found in filter(child.concerns, self.informers[self.kind.resource].owned((new or old).metadata.uid)):
                self._heed(child, found.metadata.key, old, new)

    def _grandchild_changed(self, child: Child, old: Any, new: Any) -> None:
        """What belongs to a child is of interest, but not ours to make: nothing is remembered of it."""
        assert child.through is not None
        meta: ObjectMeta = (new or old).metadata
        parent = controller_of(meta)
        if parent is None or parent.kind != child.through.kind or same(old, new):
            return
        owner = self._ours_above(child.through, meta.namespace, parent)
        if owner is not None and self.informers[self.kind.resource].get(meta.namespace, owner.name) is not None:
            self._heed(child, Key(meta.namespace, owner.name), old, new)

    def _ours_above(self, resource: Resource, namespace: str, parent: OwnerReference) -> OwnerReference | None:
        """The owner of our kind to whom the child leads, by as many steps as it takes."""
        between = self.informers[resource].get(namespace, parent.name)
        owner = controller_of(between.metadata) if between is not None and between.metadata.uid == parent.uid else None
        if owner is None or owner.kind == self.kind.resource.kind:
            return owner
        further = next((each.through for each in self.kind.children if each.resource == resource and each.through), None)
        return self._ours_above(further, namespace, owner) if further is not None and further.kind == owner.kind else None

    def _heed(self, child: Child, key: Key, old: Any, new: Any) -> None:
        """At once, or with what else comes in a moment."""
        if child.calm(old, new):
            self._queue.add_after(key, CALM)
        else:
            self._add(key)

    def _child_changed(self, child: Child, old: Any, new: Any) -> None:
        named = [controller_of(value.metadata) for value in (new, old) if value is not None]
        owners = [owner for owner in named[: 1 if named[0] == named[-1] else 2] if owner and owner.kind == self.kind.resource.kind]
        if not owners or same(old, new):
            return
        for owner in owners:  # a child may change hands
            key = Key((new or old).metadata.namespace, owner.name)
            found = self.informers[self.kind.resource].get(*key)
            if found is not None and self.kind.concerns(found):
                self._heed(child, key, old, new)
            if found is not None and found.metadata.uid == owner.uid:
                self._gone.heard(old, new)
            else:
                self._gone.heard_early(old, new)


def same(old: Any, new: Any) -> bool:
    """Do they differ in nothing that is cached, but for the version?"""
    if old is None or new is None or type(old) is not type(new):
        return False
    for name in new.__struct_fields__:
        if name != "metadata" and getattr(old, name) != getattr(new, name):
            return False
    before, after = old.metadata, new.metadata
    return all(name == "resource_version" or getattr(before, name) == getattr(after, name) for name in after.__struct_fields__)
