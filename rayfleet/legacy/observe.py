"""Reads what a decision on an old RayCluster depends on from the caches. Decides nothing."""

from __future__ import annotations

from typing import Any, Protocol

from rayfleet.api.config import Configuration
from rayfleet.api.meta import OLD_RAYCLUSTERS, PODS, RAYCLUSTERS, SERVICES, Key, Resource
from rayfleet.legacy.observed import Observed


class Reader(Protocol):
    """The part of the runtime's reader that is used here."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def backoffs(self, key: Key) -> Any: ...


class Observer:
    """Observes with one configuration."""

    def __init__(self, config: Configuration) -> None:
        self.config = config

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        old = reader.get(OLD_RAYCLUSTERS, key)
        if old is None:
            return None
        clusters, services, pods = (tuple(reader.owned(each, old.metadata.uid)) for each in (RAYCLUSTERS, SERVICES, PODS))
        return Observed(old, now, clusters, services, pods, reader.backoffs(key), self.config)
