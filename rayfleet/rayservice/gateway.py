"""The Gateway and the HTTPRoute of a service that upgrades step by step, and the Services that the route leads to (KubeRay, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rayfleet.api import labels
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, SERVICES, Resource
from rayfleet.api.rayservice import RayService
from rayfleet.api.views import ChildView
from rayfleet.planning.actions import Action, Delete, scope_of
from rayfleet.planning.clock import rfc3339
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.children import held_to, removed
from rayfleet.rayservice.clusters import Roles, selected
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental, is_unserved, route_of, weights
from rayfleet.rayservice.serve import details_of, has_capacity
from rayfleet.resources.gateway import cluster_serve_service, gateway, http_route
from rayfleet.resources.serving import serve_port

NEEDED = "its upgrades go step by step"
NO_LONGER = "upgradeStrategy no longer asks for it"


def plan_gateway(observed: Observed, service: RayService, roles: Roles, config: ServeConfig, shares: Mapping[str, int]) -> Iterator[Action]:
    """`shares`: the wanted weight of each cluster, in percent."""
    if not is_incremental(service):
        yield from left_over(observed, service, roles, config)
        return
    for member in roles.used:
        yield from held_to(observed, SERVICES, cluster_serve_service(member.cluster), observed.fronts, NEEDED)
    options = service.spec.upgrade_strategy.cluster_upgrade_options if service.spec.upgrade_strategy else None
    if is_unserved(observed) or options is None:
        return
    yield from held_to(observed, GATEWAYS, gateway(service, options.gateway_class_name), observed.gateways, NEEDED)
    if shares:
        yield from routed(observed, service, shares)


def routed(observed: Observed, service: RayService, shares: Mapping[str, int]) -> Iterator[Action]:
    """The times go along with the weights: whoever looks next sees all or nothing."""
    ports = {member.name: serve_port(member.cluster) for member in observed.members}
    manifest = http_route(service, {name: (weight, ports[name]) for name, weight in shares.items()})
    before, now = weights(observed), rfc3339(observed.now)
    told = ", ".join(f"{weight} % to RayCluster {name}" for name, weight in shares.items())
    if dict(shares) != before:
        manifest["metadata"]["annotations"] = {labels.ROUTED_AT: now}
    if {name: weight for name, weight in before.items() if weight} != {name: weight for name, weight in shares.items() if weight}:
        manifest["metadata"]["annotations"][labels.MIGRATED_AT] = now
    yield from held_to(observed, HTTPROUTES, manifest, observed.routes, told, told if dict(shares) != before else "")


def left_over(observed: Observed, service: RayService, roles: Roles, config: ServeConfig) -> Iterator[Delete]:
    """Of an incremental strategy that the spec no longer has. The route stays until the serve Service leads to a cluster that has all its
    replicas again."""
    route, active = route_of(observed), roles.active
    if route is not None and (active is None or selected(observed, service) != active.name or is_reduced(roles, active, config)):
        return
    for resource, found in everything(observed):
        if not found.terminating and not observed.held_back(scope_of(resource, found.name)):
            yield removed(resource, found, NO_LONGER)


def is_reduced(roles: Roles, active: Member, config: ServeConfig) -> bool:
    details = details_of(active)
    wanted = config.document if active is roles.goal else {}
    return details is not None and bool(details.applications) and not has_capacity(details, wanted)


def everything(observed: Observed) -> Iterator[tuple[Resource, ChildView]]:
    """All that an incremental strategy makes besides clusters."""
    for resource, found in ((HTTPROUTES, observed.routes), (GATEWAYS, observed.gateways), (SERVICES, observed.fronts)):
        yield from ((resource, each) for each in found)
