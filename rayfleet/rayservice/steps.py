"""How far an incremental upgrade has come, as it is observed, and what of it is wanted next (KubeRay, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from rayfleet.api.rayservice import RayService
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.clusters import Roles, answers
from rayfleet.rayservice.incremental import ALL, Pace, Side, Stand, Step, next_step
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import ASK_AGAIN, is_in_effect, is_incremental, is_unserved, route_of, until_due, until_late, weights
from rayfleet.rayservice.serve import details_of, is_given, runs_all, runs_any
from rayfleet.rayservice.silence import DEAF, is_silent


@dataclass(frozen=True, slots=True)
class Wanted:
    """By cluster, in percent: `shares` of the traffic, in the order in which the route is to name them; `capacities` of its Serve."""

    shares: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    capacities: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


class Way(NamedTuple):
    """`back` to the active cluster, or on to the second one. `lost`: who is to go has nothing to give any more."""

    back: bool
    lost: bool = False


def wanted(observed: Observed, service: RayService, roles: Roles, config: ServeConfig, to: Member | None) -> Wanted:
    """`to`: the cluster that the Services are to lead to. Nothing for a service that does not upgrade step by step, but all replicas for
    its cluster while a route of such an upgrade is left."""
    active, second = roles.active, roles.second
    if not is_incremental(service):
        return Wanted({}, {active.name: ALL}) if active is not None and active is not roles.goal and route_of(observed) else Wanted()
    if active is None:
        return Wanted({to.name: ALL} if to else {}, {roles.pending.name: ALL} if roles.pending else {})
    if second is None:
        return Wanted({active.name: ALL}, {active.name: ALL})
    way = way_of(observed, roles, config)
    serves = not way.back and (way.lost or may_serve(roles, second, config))
    step = step_of(observed, service, active, second, way, serves)
    waits = {roles.pending.name: 0} if roles.pending is not None and roles.pending is not second else {}
    capacities = {active.name: step.first, second.name: step.second, **waits}
    return Wanted(shares_of(observed, active, second, step, way.back), capacities)


def shares_of(observed: Observed, active: Member, second: Member, step: Step, back: bool) -> dict[str, int]:
    """The second cluster comes into the route with nothing at first, so that its Gateway gets to know it."""
    if step.over:
        return {(active if back else second).name: ALL}
    if second.name not in weights(observed):
        return {active.name: ALL, **({second.name: 0} if answers(observed, second) else {})}
    return {active.name: ALL - step.weight, second.name: step.weight}


def way_of(observed: Observed, roles: Roles, config: ServeConfig) -> Way:
    """Back to the active cluster where the spec no longer asks for the second one. Where it asks for neither, and the active one cannot
    serve again, or does not hear which replicas it needs, the one of them that may serve stays until the cluster for the spec is there."""
    active, leaving = roles.active, roles.leaving
    if leaving is None or active is None:
        return Way(back=False)
    if active is roles.goal:
        return Way(back=True)
    if has_forgotten(active, config):
        return Way(back=False, lost=True)
    serves = runs_any(leaving) and answers(observed, leaving)
    if is_down(observed, active):
        return Way(back=not serves, lost=serves or details_of(leaving) is not None or is_down(observed, leaving))
    return Way(back=not (serves and is_silent(observed, active, DEAF)))


def has_forgotten(member: Member, config: ServeConfig) -> bool:
    """Does its Serve run nothing, and nobody knows any more what it is to run?"""
    details = details_of(member)
    return details is not None and not details.applications and not is_given(member, config)


def is_down(observed: Observed, member: Member) -> bool:
    """Has it neither a head that runs nor a ready endpoint?"""
    return member.target is None and not answers(observed, member)


def step_of(observed: Observed, service: RayService, active: Member, second: Member, way: Way, serves: bool) -> Step:
    """`serves`: may more of the traffic go to the second one?"""
    options = service.spec.upgrade_strategy.cluster_upgrade_options if service.spec.upgrade_strategy else None
    pace = Pace(options.max_surge_percent, options.step_size_percent or ALL) if options else Pace(ALL, ALL)
    stand = Stand(
        first=side(observed, service, active, True),
        second=side(observed, service, second, serves),
        weight=weights(observed).get(second.name, 0),
        back=way.back,
        due=until_due(observed, service) == 0.0,
        held=observed.paused or not is_in_effect(observed),
        lost=way.lost,
    )
    return next_step(stand, pace)


def may_serve(roles: Roles, second: Member, config: ServeConfig) -> bool:
    """Whom the spec no longer asks for was given another config than the one that is wanted."""
    return runs_any(second) if second is roles.leaving else runs_all(second, config)


def side(observed: Observed, service: RayService, member: Member, serves: bool) -> Side:
    """Of who neither speaks nor answers there is nothing left; and what cannot be taken from one that hears nothing is not waited for."""
    hears, answering = details_of(member) is not None, answers(observed, member)
    capacity = capacity_of(service, member) if hears or answering else 0
    return Side(capacity, answering, serves, hears, counts=not is_silent(observed, member, DEAF))


def capacity_of(service: RayService, member: Member) -> int:
    """What Ray reports that it was told; while it says nothing, what was last reported of it. A Serve that was told nothing has none."""
    details = details_of(member)
    if details is not None:
        return (ALL if details.target_capacity is None else int(details.target_capacity)) if details.applications else 0
    for known in (service.status.active_service_status, service.status.pending_service_status):
        if known.ray_cluster_name == member.name and known.target_capacity is not None:
            return known.target_capacity
    return 0


def waiting(observed: Observed, service: RayService, roles: Roles) -> float | None:
    """Seconds until there is something to see or to do that no change tells of; None when there is nothing."""
    if not is_incremental(service):
        return None
    if is_unserved(observed):
        return ASK_AGAIN
    moving = roles.active is not None and roles.second is not None
    waits = [until_due(observed, service) if moving else None, until_late(observed)]
    return min((wait for wait in waits if wait), default=None)
