"""The clusters of a RayService: which one takes the traffic, which one is to take it, which are needed no longer (KubeRay, 4.2).

What is remembered stands on objects: the serve Service's selector says where the traffic goes, a cluster's own spec what it was made for,
and an annotation since when it is of no use. The cluster for a spec has one name, so that nobody makes it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import NONE
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups
from rayfleet.resources.ray_service import serve_mark, serve_name

LIMIT = 2
"""Living clusters at a time. A third waits until one of them is gone."""


@dataclass(frozen=True, slots=True)
class Roles:
    """`active` takes the traffic; `goal` is what the spec asks for (None: it is still to be made); `unused` are all the others that live.

    While an upgrade is under way the goal is pending: it is there, and takes no traffic yet.
    """

    active: Member | None
    goal: Member | None
    unused: tuple[Member, ...]

    @property
    def pending(self) -> Member | None:
        return self.goal if self.goal is not None and self.goal is not self.active else None


def roles(observed: Observed, service: RayService) -> Roles:
    living = [member for member in observed.members if member.living]
    active = active_of(observed, service, living)
    goal = goal_of(service, active, living, observed.config.enable_zero_downtime)
    return Roles(active, goal, tuple(member for member in living if member is not active and member is not goal))


def active_of(observed: Observed, service: RayService, living: list[Member]) -> Member | None:
    """By the serve Service; where somebody removed or turned it, by what was last reported."""
    names = [selected(observed, service), service.status.active_service_status.ray_cluster_name]
    for name in filter(None, names):
        for member in living:
            if member.name == name:
                return member
    return None


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
    """Is traffic still led to it?"""
    own = {pod.metadata.uid for pod in member.pods}
    endpoints = (endpoint for found in observed.slices if is_serve(found.metadata.labels) for endpoint in found.endpoints or ())
    return any(endpoint.target_ref is not None and endpoint.target_ref.uid in own for endpoint in endpoints)


def is_serve(marks: dict[str, str] | None) -> bool:
    """Is a slice one of a serve Service? Slices have the labels of their Service."""
    return labels.SERVE in (marks or {})
