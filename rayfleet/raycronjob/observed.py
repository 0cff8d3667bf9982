"""Everything that one decision on a RayCronJob may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Observed:
    """`jobs` are the RayJobs of its own, sorted by name; `env_faults` what is wrong with the template's `runtimeEnvYAML`."""

    cron: RayCronJob | Undecodable
    now: float
    jobs: tuple[RayJob | Undecodable, ...] = ()
    env_faults: tuple[Fault, ...] = ()
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))
    config: Configuration = field(default_factory=Configuration)

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0
