"""Hands a plan's calls to whoever carries them out, and tells what became of them when that is known, long after the look has ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

from rayfleet.api.excerpt import clip
from rayfleet.api.meta import Key, ObjectMeta, Resource
from rayfleet.permit import Shut, permitted
from rayfleet.planning.plan import Call, Event
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.kind import Outside

log = logging.getLogger(__name__)

Record = Callable[[Resource, ObjectMeta, Event], None]


class Errands:
    """One kind's. `may()`: may this process act at present?"""

    def __init__(
        self, resource: Resource, outside: Outside, backoffs: Backoffs, record: Record, may: Callable[[], bool], clock: Clock = SYSTEM
    ) -> None:
        self._resource = resource
        self._outside = outside
        self._backoffs = backoffs
        self._record = record
        self._may = may
        self._clock = clock

    def subscribe(self, listener: Callable[[Key], None]) -> None:
        """Hear of objects whose observation from outside has changed."""
        self._outside.subscribe(listener)

    def send(self, key: Key, owner: ObjectMeta, calls: Iterable[Call]) -> None:
        """Returns at once. A call that had to wait asks again whether it may leave."""
        for call in calls if self._may() else ():
            with permitted(self._insist):
                self._outside.send(key, call.target, call.message, partial(self._told, key, owner, call))

    def _insist(self) -> None:
        if not self._may():
            raise Shut

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._outside.forget(key)

    def rest(self) -> None:
        """This process leads no longer: what waits is not sent."""
        self._outside.rest()

    def _told(self, key: Key, owner: ObjectMeta, call: Call, complaint: str) -> None:
        if complaint:
            self._backoffs.failed(key, call.scope, complaint, call.failed_event, self._clock.monotonic())
            log.warning("%s: %s", call.subject, complaint, extra={"object": str(key)})
            event = Event("Warning", call.failed_event, clip(f"{call.subject}: {complaint}"))
        else:
            self._backoffs.succeeded(key, call.scope)
            log.info("%s", call.note, extra={"object": str(key)})
            event = Event("Normal", call.event, clip(call.note))
        if event.reason:
            self._record(self._resource, owner, event)
