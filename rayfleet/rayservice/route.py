"""What the HTTPRoute of a service says: which cluster has how much of the traffic, since when, and whether its Gateway heeds it."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.api import labels
from rayfleet.api.gateway import ROUTE_CONDITIONS, GatewayView, RouteView
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, SERVICES, Condition
from rayfleet.api.names import gateway_name, http_route_name, serve_service_name
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import INCREMENTAL
from rayfleet.planning.actions import scope_of
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.conditions import find
from rayfleet.rayservice.observed import Observed

CONDITION = "GatewayReady"
ASK_AGAIN = 30.0
"""Seconds: nothing tells when an API server begins to serve a kind."""
PATIENCE = 30.0
"""Seconds in which a Gateway's controller may see what has become of the route."""


def is_incremental(service: RayService) -> bool:
    """Does the traffic move from one cluster to the next step by step?"""
    strategy = service.spec.upgrade_strategy
    return strategy is not None and strategy.type == INCREMENTAL


def gateway_of(observed: Observed) -> GatewayView | None:
    name = gateway_name(observed.service.metadata.name)
    return next((found for found in observed.gateways if found.name == name), None)


def route_of(observed: Observed) -> RouteView | None:
    name = http_route_name(observed.service.metadata.name)
    return next((found for found in observed.routes if found.name == name and not found.terminating), None)


def weights(observed: Observed) -> dict[str, int]:
    """The percentage of each cluster that the route names, in its order: the active one is the first. {} without a route."""
    route, ending = route_of(observed), serve_service_name("")
    return {name.removesuffix(ending): weight for name, weight in route.weights.items() if name.endswith(ending)} if route else {}


def migrated_at(observed: Observed, service: RayService) -> str:
    """When the weights were last changed, RFC 3339; of a route that another operator made, as the status says. "" when nobody knows."""
    route = route_of(observed)
    if route is None:
        return ""
    known = (service.status.active_service_status, service.status.pending_service_status)
    return route.metadata.annotation(labels.MIGRATED_AT) or max((each.last_traffic_migrated_time or "" for each in known), default="")


def until_due(observed: Observed, service: RayService) -> float:
    """Seconds until the weights may be changed again; 0 when they may now, and where the time that is written is far in the future: then a
    clock was set back."""
    strategy, since = service.spec.upgrade_strategy, migrated_at(observed, service)
    options = strategy.cluster_upgrade_options if strategy else None
    interval = float(options.interval_seconds or 0) if options else 0.0
    try:
        left = parse_rfc3339(since) + interval - observed.now if since else 0.0
    except ValueError:
        return 0.0
    return left if 0.0 < left <= 2 * interval else 0.0


def is_unserved(observed: Observed) -> bool:
    return bool(observed.unseen & {GATEWAYS, HTTPROUTES})


def is_in_effect(observed: Observed) -> bool:
    """Are Gateway and route ready, and is it what the route says now that they are ready for?"""
    return readiness(observed).status == "True" and not lags(route_of(observed))


def lags(route: RouteView | None) -> bool:
    """Has everybody who looks after its Gateway only seen an earlier state of it, as they say? Not all of them tell; and what one who is
    gone has left there counts for nothing beside one who has seen it as it is."""
    if route is None or not route.status.parents:
        return False
    return all(parent.seen is not None and parent.seen < route.metadata.generation for parent in route.status.parents)


def until_late(observed: Observed) -> float | None:
    """Seconds until it is to be told that the route as it is has not been seen; None where it has been."""
    route = route_of(observed)
    if route is None or not lags(route):
        return None
    try:
        left = parse_rfc3339(route.metadata.annotation(labels.ROUTED_AT)) + PATIENCE - observed.now
    except ValueError:
        return 0.0
    return left if 0.0 < left <= PATIENCE else 0.0


def late(route: RouteView) -> str:
    """Of a controller that may send requests where an earlier state of the route sent them."""
    seen = max(((parent.seen or 0, parent.controller_name) for parent in route.status.parents or ()), default=(0, ""))
    who = f"the controller {seen[1]}" if seen[1] else "its controller"
    told = f"HTTPRoute {route.name} has generation {route.metadata.generation}, of which {who} has only seen {seen[0]}"
    return f"{told}: see to that controller; until then no traffic is moved, and no cluster that may still be sent requests is removed"


def judged(observed: Observed) -> Condition:
    """What is to be said: why something could not be made, else how those who look after the Gateway find it."""
    name = observed.service.metadata.name
    fronts = (scope_of(SERVICES, serve_service_name(member.name)) for member in observed.members)
    for scope in (scope_of(GATEWAYS, gateway_name(name)), scope_of(HTTPROUTES, http_route_name(name)), *fronts):
        backoff = observed.backoffs.get(scope)
        if backoff is not None and backoff.event:
            return Condition(CONDITION, "False", backoff.event, backoff.message)
    found, route = readiness(observed), route_of(observed)
    if route is not None and found.status == "True" and until_late(observed) == 0.0:
        return Condition(CONDITION, "False", "WaitingForRoute", late(route))
    return found


def readiness(observed: Observed) -> Condition:
    """As those who look after the Gateway say."""
    if is_unserved(observed):
        told = f"{GATEWAYS.api_version} is not served here, or its kinds may not be listed: the Gateway API must be installed"
        return Condition(CONDITION, "False", "GatewayAPIMissing", told)
    gateway, route = gateway_of(observed), route_of(observed)
    if lack := lacking(gateway.status.conditions if gateway else (), ("Accepted", "Programmed")):
        return Condition(CONDITION, "False", "WaitingForGateway", f"Gateway {gateway_name(observed.service.metadata.name)} {lack}")
    if route is None:
        return Condition(CONDITION, "True", "Programmed", "The Gateway is programmed")
    lacks = [lacking(parent.conditions, ROUTE_CONDITIONS) for parent in route.status.parents or ()]
    if all(lacks):  # also when nobody has said anything
        return Condition(CONDITION, "False", "WaitingForRoute", f"HTTPRoute {route.name} {lacks[0] if lacks else 'was not looked at yet'}")
    return Condition(CONDITION, "True", "Programmed", "The Gateway is programmed, and takes the route")


def lacking(conditions: Iterable[Condition] | None, needed: tuple[str, ...]) -> str:
    """The first that is not True, in its writer's words; "" when all are."""
    for name in needed:
        found = find(conditions or (), name)
        if found is None or found.status != "True":
            said = f": {found.message}" if found is not None and found.message else ""
            return f"has no condition {name}=True{said}"
    return ""
