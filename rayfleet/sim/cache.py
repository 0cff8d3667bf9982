"""One process' copy of the store, behind by as much as it is told: in order within one kind of object, in any order between kinds.

The copy itself is the runtime's own `Cache`; only the way by which news reach it is simulated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.decode import decode, decode_cluster, decode_job
from rayfleet.api.gateway import decode_gateway, decode_route
from rayfleet.api.meta import (
    CERTIFICATES,
    ENDPOINTSLICES,
    GATEWAYS,
    HTTPROUTES,
    JOBS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    SERVICES,
    Key,
    Resource,
)
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayservice import RayService
from rayfleet.api.views import ChildView, JobView, PodView, SliceView, decode_certificate, decode_child, decode_service
from rayfleet.runtime.cache import Cache
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.store import Change, Obj, Store, encoded

NODE_TYPES = (labels.HEAD, labels.WORKER, labels.REDIS_CLEANUP, labels.SUBMITTER)


def selected(resource: Resource, obj: Obj | None) -> bool:
    """Does the watch's label selector (`labels.RAY_PODS_SELECTOR`) show the object?"""
    if obj is None or resource != PODS:
        return obj is not None
    return (obj["metadata"].get("labels") or {}).get(labels.NODE_TYPE) in NODE_TYPES


VIEWS: Mapping[Resource, Callable[[Obj], Any]] = {
    RAYCLUSTERS: lambda obj: decode_cluster(encoded(obj)),
    RAYJOBS: lambda obj: decode_job(encoded(obj)),
    RAYSERVICES: lambda obj: decode(encoded(obj), RayService),
    RAYCRONJOBS: lambda obj: decode(encoded(obj), RayCronJob),
    PODS: lambda obj: msgspec.convert(obj, PodView),
    JOBS: lambda obj: msgspec.convert(obj, JobView),
    ENDPOINTSLICES: lambda obj: msgspec.convert(obj, SliceView),
    SERVICES: lambda obj: decode_service(encoded(obj)),
    CERTIFICATES: lambda obj: decode_certificate(encoded(obj)),
    GATEWAYS: lambda obj: decode_gateway(encoded(obj)),
    HTTPROUTES: lambda obj: decode_route(encoded(obj)),
}


def view(resource: Resource, obj: Obj) -> Any:
    found = VIEWS.get(resource)
    return found(obj) if found else decode_child(encoded(obj), ChildView)


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run to its end what only pretends to wait."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value


class LaggingWatch:
    """The copy of one resource; to the runtime it looks like an informer. `lag()` gives the seconds that the next event takes."""

    def __init__(self, clock: VirtualClock, store: Store, resource: Resource, lag: Callable[[], float]) -> None:
        self.clock = clock
        self.store = store
        self.resource = resource
        self.lag = lag
        self.copy: Cache[Any] = Cache()
        self.resource_version = "0"
        self.listed_at = float("-inf")
        self.closed = False
        self.is_denied = False
        self.cuts = 0
        self.repeats = 0  # so many events that are still to come come twice
        self._progress: list[Callable[[], None]] = []
        self._news: deque[Change] = deque()
        self._due = 0.0
        self._lists = 0  # events that were on their way before a list do not count after it

    def start(self) -> None:
        """A consistent list, then the watch."""
        self.list()
        self.store.watchers.append(self.hear)

    def close(self) -> None:
        self.closed = True
        if self.hear in self.store.watchers:
            self.store.watchers.remove(self.hear)

    def get(self, namespace: str, name: str) -> Any:
        return self.copy.get(Key(namespace, name))

    def values(self) -> list[Any]:
        return sorted(self.copy.values(), key=lambda found: found.metadata.key)

    def owned(self, uid: str) -> list[Any]:
        return list(self.copy.owned(uid))

    def need(self) -> None:
        """Whoever looks: everything may be listed here."""

    def subscribe(self, handler: Callable[[Any, Any], None]) -> None:
        self.copy.subscribe(handler)

    def on_progress(self, handler: Callable[[], None]) -> None:
        self._progress.append(handler)

    def relist(self) -> None:
        self.cut(0.01)

    def list(self) -> None:
        """Become what the store holds now; what happened in between and was undone again is never seen."""
        self._news.clear()
        self._lists += 1
        self.cuts = 0
        objects = self.store.objects.get(self.resource, {})
        found = {key: view(self.resource, obj) for key, obj in objects.items() if selected(self.resource, obj)}
        finish(self.copy.replace(found))
        self.listed_at = self.clock.monotonic()
        self.reached(self.store.version)

    def cut(self, seconds: float) -> None:
        """The watch breaks, its version is too old by then (410), and everything is listed anew after the given time."""
        self._news.clear()
        self._lists += 1
        self.cuts += 1
        self.clock.call_later(seconds, lambda: self.list() if self.cuts and not self.closed else None)

    def stall(self, seconds: float) -> None:
        """News that are still to come take this much longer."""
        self._due = max(self._due, self.clock.now + seconds)

    def hear(self, change: Change) -> None:
        if change.resource != self.resource or self.cuts:
            return
        self._news.append(change)
        self._due = max(self._due, self.clock.now + self.lag())
        lists = self._lists
        self.clock.call_later(self._due - self.clock.now, lambda: self.deliver(lists))

    def deliver(self, lists: int) -> None:
        """The next event, unless a list has told it since."""
        if self.closed or not self._news or lists != self._lists:
            return
        change = self._news.popleft()
        if change.view is None:
            change.view = view(self.resource, change.new)
        self.take_over(change)
        if self.repeats:
            self.repeats -= 1
            self.take_over(change)

    def take_over(self, change: Change) -> None:
        if change.type != "DELETED" and selected(self.resource, change.new):
            self.copy.put(change.view)
        elif selected(self.resource, change.old):
            self.copy.remove(change.view.metadata)
        self.reached(change.version)

    def reached(self, version: int) -> None:
        self.resource_version = str(version)
        for handler in self._progress:
            handler()
