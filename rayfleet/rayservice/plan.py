"""RayService: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.meta import RAYSERVICES
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Action
from rayfleet.planning.conditions import says
from rayfleet.planning.finalizer import SCOPE as FINALIZER_SCOPE
from rayfleet.planning.newest import asked_first
from rayfleet.planning.plan import Event, Plan
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice import generations, steps
from rayfleet.rayservice.clusters import Roles, roles
from rayfleet.rayservice.finalize import finalize, hold
from rayfleet.rayservice.gateway import plan_gateway
from rayfleet.rayservice.judgement import invalid
from rayfleet.rayservice.observed import Observed
from rayfleet.rayservice.serve import Deployment, deployment, resized
from rayfleet.rayservice.silence import until_noticed
from rayfleet.rayservice.status import refusal_write, status_write
from rayfleet.rayservice.suspension import everything
from rayfleet.rayservice.traffic import front, plan_traffic
from rayfleet.rayservice.validity import checked


def plan(observed: Observed) -> Plan:
    """What to do next for one RayService, and what to say of it."""
    service = observed.service
    if isinstance(service, RayService) and service.spec.managed_by == OTHER_MANAGER:
        return Plan()
    if service.metadata.deletion_timestamp:
        return finalize(observed)
    config = checked(observed)
    if isinstance(service, Undecodable) or not isinstance(config, ServeConfig):
        return refuse(observed, config if not isinstance(config, ServeConfig) else ())
    parts = roles(observed, service)
    if holds := hold(observed):
        first = () if observed.held_back(FINALIZER_SCOPE) else tuple(holds)
        return Plan(first, status_write(observed, service, parts), observed.next_try())
    if service.spec.suspend:
        return Plan(in_order(observed, everything(observed)), status_write(observed, service, parts), observed.next_try())
    return go_on(observed, service, parts, config)


def go_on(observed: Observed, service: RayService, parts: Roles, config: ServeConfig) -> Plan:
    """The plan for a service that is to serve."""
    to = front(observed, service, parts, config)
    goal = steps.wanted(observed, service, parts, config, to)
    told = deployments(observed, parts, config, goal.capacities)
    actions = (
        *generations.plan_clusters(observed, service, parts, config),
        *plan_traffic(observed, service, parts, to, goal.shares),
        *plan_gateway(observed, service, parts, config, goal.shares),
        *(each.mark for each in told if each.mark),
    )
    return Plan(
        in_order(observed, actions),
        status_write(observed, service, parts),
        waiting(observed, service, parts, told),
        events(observed, service, parts),
        tuple(each.call for each in told if each.call),
    )


def in_order(observed: Observed, actions: Iterable[Action]) -> tuple[Action, ...]:
    return tuple(asked_first(RAYSERVICES, observed.service.metadata, tuple(actions), observed.held_back))


def deployments(observed: Observed, parts: Roles, config: ServeConfig, capacities: Mapping[str, int]) -> list[Deployment]:
    """What is to be told to each cluster: the config to that which it is for and to no other."""
    told = [deployment(observed, parts.goal, config, capacities.get(parts.goal.name))] if parts.goal else []
    others = (member for member in parts.used if member is not parts.goal and member.name in capacities)
    return [*told, *(resized(observed, member, config, capacities[member.name]) for member in others)]


def refuse(observed: Observed, faults: Sequence[Fault]) -> Plan:
    """Leave everything as it is and say what is wrong, once for each generation."""
    verdict = invalid(faults)
    known = says(observed.service.status.conditions, verdict, observed.service.metadata.generation)
    events = () if known else (Event("Warning", reason_of(faults), verdict.message, "Validate"),)
    return Plan(status=refusal_write(observed, faults), events=events)


def reason_of(faults: Sequence[Fault]) -> str:
    at_fault = any(fault.path.startswith("metadata") for fault in faults)
    return "InvalidRayServiceMetadata" if at_fault else "InvalidRayServiceSpec"


def events(observed: Observed, service: RayService, parts: Roles) -> tuple[Event, ...]:
    """What no action tells of."""
    if not generations.timed_out(observed, service, parts) or generations.has_given_up(service):
        return ()
    return (Event("Warning", "RayServiceInitializingTimeout", "No cluster served within the initializing timeout"),)


def waiting(observed: Observed, service: RayService, parts: Roles, told: Sequence[Deployment]) -> float | None:
    """Seconds until something is due that no change tells of."""
    waits = [*generations.waiting(observed, service, parts)]
    waits += [wait for member in parts.used for wait in until_noticed(observed, member)]
    others = (observed.next_try(), steps.waiting(observed, service, parts), *(each.wait for each in told))
    waits += [wait for wait in others if wait is not None]
    return max(min(waits), 0.1) if waits else None
