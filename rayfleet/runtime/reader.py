"""What an observation reads: the caches, and what this process remembers. Never the network."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from rayfleet.api.meta import Key, Resource
from rayfleet.planning.backoff import Backoff
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.gone import Gone
from rayfleet.runtime.informer import Informer
from rayfleet.runtime.solitude import Solitude


class Reader:
    """One kind's view. A resource that the kind did not declare raises KeyError."""

    def __init__(
        self, informers: Mapping[Resource, Informer[Any]], backoffs: Backoffs, gone: Gone, solitude: Solitude, clock: Clock = SYSTEM
    ) -> None:
        self._informers = informers
        self._backoffs = backoffs
        self._gone = gone
        self._solitude = solitude
        self._clock = clock

    def get(self, resource: Resource, key: Key) -> Any:
        """The object of that name, whoever owns it; None when the cache has none."""
        return self._informers[resource].get(key.namespace, key.name)

    def owned(self, resource: Resource, uid: str) -> tuple[Any, ...]:
        """The children whose controller has this UID, sorted by name."""
        self._informers[resource].need()
        return tuple(sorted(self._informers[resource].owned(uid), key=lambda child: child.metadata.name))

    def all(self, resource: Resource) -> Collection[Any]:
        """Every object of the kind, in no order."""
        return self._informers[resource].values()

    def unseen(self, resource: Resource) -> bool:
        """Does the API server refuse to list it, or not know it?"""
        self._informers[resource].need()
        return self._informers[resource].is_denied

    def gone(self, uid: str) -> frozenset[str]:
        """Names of owned children that vanished, to this process's knowledge, while the owner lived."""
        return self._gone.of(uid)

    def alone(self, uid: str) -> bool:
        """Did the object come to be while this process alone could act on it?"""
        return self._solitude.of(uid)

    def backoffs(self, key: Key) -> Mapping[str, Backoff]:
        """What went wrong lately, by scope, in the wall clock's time as it is now."""
        now = self._clock.monotonic()
        ahead = self._clock.time() - now
        held = self._backoffs.of(key, now)
        return held and MappingProxyType({scope: replace(backoff, retry_at=backoff.retry_at + ahead) for scope, backoff in held.items()})
