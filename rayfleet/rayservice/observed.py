"""Everything that one decision on a RayService may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.gateway import GatewayView, RouteView
from rayfleet.api.meta import Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.api.views import PodView, ServiceView, SliceView
from rayfleet.planning.backoff import Backoff
from rayfleet.ray.answer import Act, Heard, Target


@dataclass(frozen=True, slots=True)
class Member:
    """One of the service's clusters, with its Pods, and what its head says.

    `target` is how Ray is reached there; None while there is no head to ask. `details` and `health` are the last answers to
    `serve.details()` and `serve.health(port)`, `results` what became of what it was told last.
    """

    cluster: RayCluster
    pods: tuple[PodView, ...] = ()
    target: Target | None = None
    details: Heard | None = None
    health: Heard | None = None
    results: Mapping[Act, Heard] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        return self.cluster.metadata.name

    @property
    def living(self) -> bool:
        return self.cluster.metadata.deletion_timestamp is None

    @property
    def head(self) -> PodView | None:
        """The one head Pod that is not on its way out."""
        return head_of(self.pods)


def head_of(pods: tuple[PodView, ...]) -> PodView | None:
    heads = [pod for pod in pods if pod.is_head and not pod.terminating]
    return heads[0] if heads else None


@dataclass(frozen=True, slots=True)
class Observed:
    """`members` and `services` are those whose controller reference carries the service's UID, sorted by name; `spoiled` are the names of
    those of its clusters that cannot be decoded. `fronts` are the clusters' own serve Services, `slices` the slices of all Services;
    `gateways` and `routes` are the service's, and `unseen` the kinds that the API server does not list for us. `now` is in seconds since
    1970; `backoffs` holds recent failures by scope.
    """

    service: RayService | Undecodable
    now: float
    members: tuple[Member, ...] = ()
    spoiled: tuple[str, ...] = ()
    services: tuple[ServiceView, ...] = ()
    fronts: tuple[ServiceView, ...] = ()
    slices: tuple[SliceView, ...] = ()
    gateways: tuple[GatewayView, ...] = ()
    routes: tuple[RouteView, ...] = ()
    unseen: frozenset[Resource] = frozenset()
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))
    config: Configuration = field(default_factory=Configuration)

    def member(self, name: str) -> Member | None:
        return next((each for each in self.members if each.name == name), None)

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0

    def next_try(self) -> float | None:
        """Seconds until the first scope that is held back may try again; None when none is."""
        return min((wait for scope in self.backoffs if (wait := self.held_back(scope)) > 0), default=None)

    @property
    def paused(self) -> bool:
        return self.service.metadata.annotation(labels.PAUSED) == "true"
