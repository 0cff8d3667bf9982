"""Writes the statuses of one kind's objects: at once where something flips, otherwise once for what moves together."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from rayfleet.api.meta import Key, ObjectMeta, Resource
from rayfleet.kube.errors import ApiError, Conflict, NotFound
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.planning.plan import StatusWrite
from rayfleet.runtime.clock import Clock
from rayfleet.runtime.gate import Gate, Write
from rayfleet.runtime.visibility import Source, Visibility

log = logging.getLogger(__name__)

COALESCE = 1.0  # seconds without a further change after which a status that is not urgent is written
LONGEST_HOLD = 5.0  # and in any case so long after the first


@dataclass(frozen=True, slots=True)
class Held:
    """A status that waits: since when, when its meaning last changed, and what it says."""

    since: float
    changed: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a status: `later`: held back for so many seconds; `stale`: it was made from an old version."""

    later: float | None = None
    done: bool = False
    stale: bool = False


class Statuses:
    """What the server made nothing of is not written again over the same version: a definition that was replaced may prune it."""

    def __init__(self, resource: Resource, gate: Gate, sources: Mapping[Resource, Source], visibility: Visibility, clock: Clock) -> None:
        self._resource = resource
        self._gate = gate
        self._sources = sources
        self._visibility = visibility
        self._clock = clock
        self._held: dict[Key, Held] = {}
        self._not_before: dict[Key, float] = {}
        self._echoes: dict[Key, str] = {}
        self._pruned: dict[Key, StatusWrite] = {}

    async def write(self, key: Key, owner: ObjectMeta, status: StatusWrite | None) -> Told:
        """Raises ApiError when it is refused (but for conflicts), `Shut` when this process may no longer write."""
        later = self._hold(key, status)
        if status is None or later is not None or self._pruned.get(key) == status:
            return Told(later)
        body = {"metadata": {"resourceVersion": status.resource_version}, "status": status.patch}
        try:
            written = await self._gate.send(Write("status", self._resource, owner.namespace, owner.name, body))
        except ApiError as error:
            if error.retry_after:
                self._not_before[key] = self._clock.monotonic() + min(error.retry_after, LONGEST_RETRY)
            if isinstance(error, NotFound | Conflict):
                return Told(stale=isinstance(error, Conflict))
            raise
        self._held.pop(key, None)  # only now: after a refusal the next look is not to hold it back again
        if written.metadata.resource_version == status.resource_version:
            self._pruned[key] = status
            return Told()
        log.info("status written: %s", status.reason, extra={"object": str(key)})
        self._echoes[key] = written.metadata.resource_version
        self._visibility.wrote(key, self._sources[self._resource], written.metadata.resource_version)
        return Told(done=True)

    def is_echo(self, owner: ObjectMeta) -> bool:
        """Is this the very version that our last write of its status made? It was written over what was then decided on: nothing is new."""
        return self._echoes.get(owner.key) == owner.resource_version

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._held.pop(key, None)
        self._not_before.pop(key, None)
        self._echoes.pop(key, None)
        self._pruned.pop(key, None)

    def _hold(self, key: Key, status: StatusWrite | None) -> float | None:
        """Seconds to hold a status back: until a busy server wants to be asked again, and so that counters that move together are written
        together. None to write it now."""
        now = self._clock.monotonic()
        put_off = self._not_before.get(key, now) - now
        if status is not None and put_off > 0:
            return put_off
        self._not_before.pop(key, None)
        if status is None or status.urgent:
            self._held.pop(key, None)
            return None
        held = self._held.get(key)
        if held is None or held.meaning != status.reason:
            held = self._held[key] = Held(held.since if held else now, now, status.reason)
        left = min(held.changed + COALESCE, held.since + LONGEST_HOLD) - now
        return left if left > 1e-6 else None
