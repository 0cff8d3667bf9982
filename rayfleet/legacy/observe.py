"""Reads what a decision on an old RayCluster depends on from the caches. Decides nothing."""

from __future__ import annotations

from rayfleet.api.config import Configuration
from rayfleet.api.meta import OLD_RAYCLUSTERS, PODS, RAYCLUSTERS, SERVICES, Key
from rayfleet.legacy.observed import Observed
from rayfleet.planning.reader import Reader


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
