"""Everything that one look at the size of a cluster may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayfleet.api.raycluster import RayCluster
from rayfleet.autoscaling.values import Decision, Instance, Memory
from rayfleet.planning.backoff import Backoff
from rayfleet.ray.gcs import Head


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why nothing can be decided: the condition's reason and message. It is told when it has lasted for `patience` seconds."""

    reason: str
    message: str
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision was made and carried out: what to remember, what to report, and whether more is to be seen soon.

    `said`: the reasons of its events; `infeasible`: how many demands it could not meet.
    """

    memory: Memory
    report: bytes
    eager: bool
    said: tuple[str, ...] = ()
    infeasible: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """`decision` is there unless `obstacle` is, or unless the head has not been heard yet. `since`: when the obstacle began; `retry_at`:
    when it may be gone by itself.

    `instances` are the cluster's Pods with their nodes; `unknown`: options of Ray's container that mean nothing without it.
    """

    cluster: RayCluster
    now: float
    head: Head | None = None
    obstacle: Obstacle | None = None
    since: float = 0.0
    retry_at: float | None = None
    instances: tuple[Instance, ...] = ()
    decision: Decision | None = None
    report: bytes = b""
    unknown: tuple[str, ...] = ()
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0
