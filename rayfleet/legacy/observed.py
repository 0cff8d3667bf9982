"""Everything that one decision on an old RayCluster may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.legacy.object import OldCluster
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView, ServiceView
from rayfleet.planning.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Observed:
    """`clusters`, `services` and `pods` are those whose controller is the old object itself, sorted by name. Such Pods are the Python
    operator's: ours belong to the cluster of today."""

    old: OldCluster
    now: float
    clusters: tuple[RayCluster | Undecodable, ...] = ()
    services: tuple[ServiceView, ...] = ()
    pods: tuple[PodView, ...] = ()
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))
    config: Configuration = field(default_factory=Configuration)

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0

    def next_try(self) -> float | None:
        """Seconds until the first scope that is held back may try again; None when none is."""
        return min((wait for scope in self.backoffs if (wait := self.held_back(scope)) > 0), default=None)
