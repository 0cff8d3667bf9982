"""The clusters of a RayService: which one takes the traffic, which one is to take it, which are needed no longer (KubeRay, 4.2).

What is remembered stands on objects: the serve Service's selector, or the HTTPRoute, says where the traffic goes, a cluster's own spec what
it was made for, and an annotation since when it is of no use. The cluster for a spec has one name, so that nobody makes it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import NONE
from rayfleet.api.views import SliceView
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental, lags, route_of, weights
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups
from rayfleet.resources.gateway import cluster_serve_mark
from rayfleet.resources.ray_service import serve_mark, serve_name

LIMIT = 2
"""Living clusters at a time. A third waits until one of them is gone."""


@dataclass(frozen=True, slots=True)
class Roles:
    """`active` takes the traffic; `goal` is what the spec asks for (None: it is still to be made); `unused` are all the others that live.

    While an upgrade is under way the goal is pending: it is there, and takes no traffic yet, or a part of it. `leaving` is one that was to
    take the active one's place, and from which the traffic is taken back.
    """

    active: Member | None
    goal: Member | None
    unused: tuple[Member, ...]
    leaving: Member | None = None

    @property
    def pending(self) -> Member | None:
        return self.goal if self.goal is not None and self.goal is not self.active else None

    @property
    def second(self) -> Member | None:
        """The one beside the active cluster that has, or is to have, a share of the traffic."""
        return self.leaving or self.pending

    @property
    def used(self) -> tuple[Member, ...]:
        """Each once."""
        return tuple(member for member in (self.active, self.pending, self.leaving) if member is not None)


def roles(observed: Observed, service: RayService) -> Roles:
    living = [member for member in observed.members if member.living]
    active = active_of(observed, service, living)
    goal = goal_of(service, active, living, observed.config.enable_zero_downtime)
    others = [member for member in living if member is not active and member is not goal]
    shares = weights(observed) if active is not None and is_incremental(service) else {}
    leaving = next((member for member in others if member.name in shares), None)
    return Roles(active, goal, tuple(member for member in others if member is not leaving), leaving)


def active_of(observed: Observed, service: RayService, living: list[Member]) -> Member | None:
    """By what leads the traffic; where somebody removed or turned it, by what was last reported."""
    for name in led_to(observed, service):
        for member in living:
            if member.name == name:
                return member
    return None


def led_to(observed: Observed, service: RayService) -> Iterator[str]:
    """Names of clusters that may be the active one, the surest first; "" for what leads nowhere."""
    shares = weights(observed)
    by_route = [name for index, name in enumerate(shares) if index == 0 or shares[name] > 0]
    by_service = [selected(observed, service)]
    yield from (*by_route, *by_service) if is_incremental(service) else (*by_service, *by_route)
    for found in observed.services:
        if found.metadata.label(labels.NODE_TYPE) == labels.HEAD and not found.terminating:
            yield (found.spec.selector or {}).get(labels.CLUSTER, "")
    yield service.status.active_service_status.ray_cluster_name


def selected(observed: Observed, service: RayService) -> str:
    """The cluster that the serve Service leads to; "" when there is no such Service."""
    own = [each for each in observed.services if each.metadata.label(labels.SERVE) == serve_mark(service) and not each.terminating]
    own.sort(key=lambda each: each.name != serve_name(service))
    return (own[0].spec.selector or {}).get(labels.CLUSTER, "") if own else ""


def goal_of(service: RayService, active: Member | None, living: list[Member], zero_downtime: bool) -> Member | None:
    spec = service.spec.ray_cluster_config
    candidates = sorted(living, key=lambda member: (member is not active, member.cluster.metadata.creation_timestamp or "", member.name))
    for member in candidates:
        if is_made_for(member.cluster, spec):
            return member
    for member in candidates:
        if lacks_only_groups(member.cluster, spec):
            return member
    return candidates[0] if candidates and keeps_cluster(service, zero_downtime) else None


def keeps_cluster(service: RayService, zero_downtime: bool) -> bool:
    """Does a change of the cluster's spec make no new cluster?"""
    strategy = service.spec.upgrade_strategy
    asked = (strategy.type if strategy else None) or ""
    return asked == NONE or (not asked and not zero_downtime)


def serving_pods(member: Member) -> int:
    """How many of its Pods have a proxy that answers."""
    return sum(pod.ready and not pod.terminating and pod.metadata.label(labels.SERVE) == "true" for pod in member.pods)


def has_endpoints(observed: Observed, member: Member) -> bool:
    """Is traffic still led to it? Its own Service always has its Pods: then the route counts, as its Gateway has last seen it."""
    if member.name in weights(observed) or lags(route_of(observed)):
        return True
    own = {pod.metadata.uid for pod in member.pods}
    shared = (found for found in observed.slices if is_serve(found.metadata.labels) and not is_front(found, member))
    return any(end.target_ref is not None and end.target_ref.uid in own for found in shared for end in found.endpoints or ())


def answers(observed: Observed, member: Member) -> bool:
    """Has its own serve Service an endpoint that is ready?"""
    if not any(front.metadata.label(labels.SERVE) == cluster_serve_mark(member.name) for front in observed.fronts):
        return False
    return any(end.ready for found in observed.slices if is_front(found, member) for end in found.endpoints or ())


def is_front(found: SliceView, member: Member) -> bool:
    """Is a slice one of the cluster's own serve Service?"""
    return found.metadata.label(labels.SERVE) == cluster_serve_mark(member.name)


def is_serve(marks: dict[str, str] | None) -> bool:
    """Is a slice one of a serve Service? Slices have the labels of their Service."""
    return labels.SERVE in (marks or {})
