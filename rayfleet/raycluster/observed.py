"""Everything that one decision on a RayCluster may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import SERVICES, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ChildView, JobView, PodView, ServiceView
from rayfleet.planning.backoff import Backoff
from rayfleet.raycluster.lives import Lives, parse_lives
from rayfleet.raycluster.rivals import Rival


@dataclass(frozen=True, slots=True)
class Observed:
    """`pods`, `services` and `others` are those whose controller reference carries the cluster's UID, sorted by name.

    `unseen` are kinds that the API server does not list for us: it does not know them, or we may not. `ownerless` are Secrets of names that
    the cluster's certificates are issued into, and that nobody owns.

    `jobs` are likewise its own. `claim` is the claim for the head's embedded store, whoever owns it: one that was kept has no owner.
    `rival` is another cluster that has the store which this one names.
    `unpermitted`: its head would submit a job by itself, and that job does not say yet that this cluster may.
    `alone`: it came to be while this process alone could act on it.
    `gone` are names of its Pods that were seen to vanish; `now` is in seconds since 1970; `backoffs` holds recent failures by scope.
    """

    cluster: RayCluster | Undecodable
    now: float
    pods: tuple[PodView, ...] = ()
    services: tuple[ServiceView, ...] = ()
    gone: frozenset[str] = frozenset()
    jobs: tuple[JobView, ...] = ()
    claim: ChildView | None = None
    rival: Rival | None = None
    others: Mapping[Resource, tuple[ChildView, ...]] = field(default_factory=lambda: MappingProxyType({}))
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))
    config: Configuration = field(default_factory=Configuration)
    unseen: frozenset[Resource] = frozenset()
    ownerless: tuple[ChildView, ...] = ()
    alone: bool = False
    unpermitted: bool = False

    @property
    def lives(self) -> Lives:
        """How often the Pod of each slot may have gone already (design, decision 3)."""
        return parse_lives(self.cluster.metadata.annotation(labels.LIVES))

    def owned(self, resource: Resource) -> tuple[ChildView, ...]:
        """The children of one kind, Pods apart."""
        return self.services if resource == SERVICES else self.others.get(resource, ())

    def heads(self) -> tuple[PodView, ...]:
        return tuple(pod for pod in self.pods if pod.is_head)

    def workers(self, group: str | None = None) -> tuple[PodView, ...]:
        """The worker Pods, of one group or of all."""
        return tuple(pod for pod in self.pods if pod.is_worker and group in (None, pod.group))

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0

    def next_try(self) -> float | None:
        """Seconds until the first scope that is held back may try again; None when none is."""
        return min((wait for scope in self.backoffs if (wait := self.held_back(scope)) > 0), default=None)

    def refused(self, scope: str, event: str) -> bool:
        """Did the API refuse just this a moment ago? Then it is not asked again before its time."""
        backoff = self.backoffs.get(scope)
        return backoff is not None and backoff.event == event and backoff.retry_at > self.now
