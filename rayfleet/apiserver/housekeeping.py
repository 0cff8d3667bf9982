"""What happens by itself after a change: garbage, ends of namespaces and definitions, old events."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from rayfleet.apiserver import budgets, custom, ending, endpoint_slices, garbage, job_controller, quota
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.custom import DEFINITIONS
from rayfleet.apiserver.namespace_content import furnish
from rayfleet.apiserver.pod_admission import ACCOUNT, AUTHORITY
from rayfleet.apiserver.record import ADDED, DELETED, MODIFIED, Change, Record

log = logging.getLogger(__name__)

Key = tuple[str, str, str]

EVENT_SECONDS = 3600.0
"""as the API server's --event-ttl"""
SWEEP_SECONDS = 60.0
BATCH = 100
PAUSE_SECONDS = 5.0


class Housekeeping:
    """Follows the store and works through what has become due: in the background, or by `settle()` without an event loop."""

    def __init__(self, api: Api, healthy: Callable[[], bool] = lambda: True) -> None:
        """`healthy`: whether what is written is likely to last. If not, there is a pause between two attempts."""
        self._api = api
        self._healthy = healthy
        self._due: OrderedDict[Key, None] = OrderedDict()
        self._events: OrderedDict[Key, float] = OrderedDict()
        self._selectors = endpoint_slices.Selectors()
        self._jobs = job_controller.Jobs(api)
        self._alarm: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: asyncio.Handle | None = None
        self._sweep: asyncio.Handle | None = None
        # After a restart nothing is known of what was due: everything is looked at once.
        for resource in api.store.resources():
            for record in api.store.select(resource):
                self._follow(Change(ADDED, record))
        api.store.on_stage.append(self._follow)

    def settle(self) -> None:
        """Works until nothing is due."""
        while self._due:
            self._work()

    def expire_events(self) -> None:
        """Removes the events that nobody wrote to for an hour."""
        while self._events:
            key, written = next(iter(self._events.items()))
            if written > self._api.clock() - EVENT_SECONDS:
                return
            del self._events[key]
            if (record := self._api.store.get(*key)) is not None:
                self._api.store.remove(record)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._schedule()
        self._tick()

    def stop(self) -> None:
        self._loop = None
        for handle in (self._next, self._sweep, self._alarm):
            if handle is not None:
                handle.cancel()

    def _tick(self) -> None:
        if self._loop is not None:
            self.expire_events()
            self._sweep = self._loop.call_later(SWEEP_SECONDS, self._tick)

    def _follow(self, change: Change) -> None:
        record = change.record
        if record.resource == "events":
            self._follow_event(change)
        elif record.resource in ("services", "pods"):
            self._follow_endpoints(change)
        elif (record.resource == budgets.BUDGETS and change.type != DELETED) or (record.resource == "namespaces" and change.type == ADDED):
            self._add(record)
        if (job := self._jobs.concerned(change)) is not None and (change.type != DELETED or job is not record):
            self._add(job)
        if change.type != MODIFIED or record.resource in ("pods", "resourcequotas"):
            self._follow_quotas(change)
        if change.type == DELETED:
            self._follow_deletion(record)
        elif b'"deletionTimestamp":' in record.data or not all(garbage.owns(self._api, uid, record) for uid in record.owners):
            self._add(record)

    def _follow_deletion(self, record: Record) -> None:
        for dependent in self._api.store.dependents(record.uid):
            self._add(dependent)
        store = self._api.store
        if record.name in (ACCOUNT, AUTHORITY) and (home := store.get("namespaces", "", record.namespace)) is not None:
            self._add(home)
        if record.resource == DEFINITIONS:
            for other in list(store.select(DEFINITIONS)):
                self._add(other)  # its names may be free now
        # Whoever waits for the end of this object may be ready now.
        holders = [store.by_uid(uid) for uid in record.owners]
        if store.is_empty(record.namespace):
            holders.append(store.get("namespaces", "", record.namespace))
        if store.is_unused(record.resource):
            holders.append(store.get(DEFINITIONS, "", record.resource))
        for waiting in holders:
            if waiting is not None and b'"deletionTimestamp":' in waiting.data:
                self._add(waiting)

    def _follow_endpoints(self, change: Change) -> None:
        record = change.record
        if record.resource == "services":
            self._selectors.follow(change)
            if change.type != DELETED:
                self._add(record)
            return
        for budget in self._api.store.select(budgets.BUDGETS, record.namespace):
            self._add(budget)
        names = {name for each in (record, change.previous) if each is not None for name in self._selectors.of(each)}
        for name in sorted(names):
            if (service := self._api.store.get("services", record.namespace, name)) is not None:
                self._add(service)

    def _follow_quotas(self, change: Change) -> None:
        """What is in use of a quota is shown, a moment later."""
        for shown in self._api.store.select("resourcequotas", change.record.namespace) if change.record.namespace else ():
            self._add(shown)

    def _follow_event(self, change: Change) -> None:
        key = (change.record.resource, change.record.namespace, change.record.name)
        self._events.pop(key, None)
        if change.type != DELETED:
            self._events[key] = self._api.clock()

    def _add(self, record: Record) -> None:
        self._due[record.resource, record.namespace, record.name] = None
        self._schedule()

    def _schedule(self) -> None:
        if self._due and self._next is None and self._loop is not None:
            self._next = self._loop.call_soon(self._run) if self._healthy() else self._loop.call_later(PAUSE_SECONDS, self._run)

    def _run(self) -> None:
        self._next = None
        self._work()
        self._schedule()
        self._set_alarm()

    def _set_alarm(self) -> None:
        """For the Job that is due first."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._jobs.due and self._loop is not None:
            pause = min(self._jobs.due.values()) - self._api.clock()
            self._alarm = self._loop.call_later(max(0.0, pause), self._wake)

    def _wake(self) -> None:
        self.remind()
        self._set_alarm()

    def remind(self) -> None:
        """Of the Jobs whose time has come."""
        for namespace, name in [key for key, when in self._jobs.due.items() if when <= self._api.clock()]:
            self._jobs.due.pop((namespace, name))
            if (job := self._api.store.get(job_controller.JOBS, namespace, name)) is not None:
                self._add(job)

    def _work(self) -> None:
        """A part of what is due, so that requests get their turn in between."""
        for _ in range(min(BATCH, len(self._due))):
            key, _ = self._due.popitem(last=False)
            record = self._api.store.get(*key)
            if record is None:
                continue
            try:
                self._look_at(record)
            except Exception:
                log.exception("housekeeping of %s %s/%s failed", *key)

    def _look_at(self, record: Record) -> None:
        if record.resource == "namespaces":
            if garbage.terminating(record):
                ending.end_namespace(self._api, record)
            else:
                furnish(self._api, record.name)
        elif record.resource == DEFINITIONS:
            ending.end_definition(self._api, record)
            custom.accept_names(self._api, record)
        elif record.resource == "services":
            endpoint_slices.sync(self._api, record)
        elif record.resource == "resourcequotas":
            quota.refresh(self._api, record)
        elif record.resource == budgets.BUDGETS:
            budgets.sync(self._api, record)
        elif record.resource == job_controller.JOBS:
            self._jobs.look_at(record)
        elif record.resource == "pods":
            self._jobs.release(record)
        for dependent in garbage.release(self._api, record):
            self._add(dependent)
        current = self._api.store.get(record.resource, record.namespace, record.name)
        if current is not None and current.owners:
            garbage.collect(self._api, current)
