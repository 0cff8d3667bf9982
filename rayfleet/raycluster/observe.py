"""Reads what a RayCluster's decisions depend on from the caches. Decides nothing."""

from __future__ import annotations

from typing import Any, Protocol

from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES, Key, Resource
from rayfleet.raycluster.observed import Observed


class Reader(Protocol):
    """The part of the runtime's reader that is used here."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def gone(self, uid: str) -> frozenset[str]: ...

    def backoffs(self, key: Key) -> Any: ...


class Observer:
    """Observes with one configuration."""

    def __init__(self, config: Configuration) -> None:
        self.config = config

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        cluster = reader.get(RAYCLUSTERS, key)
        if cluster is None:
            return None
        uid = cluster.metadata.uid
        return Observed(
            cluster=cluster,
            now=now,
            pods=tuple(reader.owned(PODS, uid)),
            services=tuple(reader.owned(SERVICES, uid)),
            gone=reader.gone(uid),
            backoffs=reader.backoffs(key),
            config=self.config,
        )
