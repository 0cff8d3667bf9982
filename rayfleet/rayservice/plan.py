"""RayService: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Action
from rayfleet.planning.conditions import says
from rayfleet.planning.finalizer import SCOPE as FINALIZER_SCOPE
from rayfleet.planning.plan import Event, Plan
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice import generations
from rayfleet.rayservice.clusters import Roles, roles
from rayfleet.rayservice.finalize import finalize, hold
from rayfleet.rayservice.judgement import SILENCE, invalid, silent_since
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.serve import Deployment, deployment
from rayfleet.rayservice.status import refusal_write, status_write
from rayfleet.rayservice.suspension import everything
from rayfleet.rayservice.traffic import plan_traffic
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
        return Plan(tuple(everything(observed)), status_write(observed, service, parts), observed.next_try())
    told = deployment(observed, parts.goal, config) if parts.goal else Deployment()
    actions: list[Action] = [
        *generations.plan_clusters(observed, service, parts, config),
        *plan_traffic(observed, service, parts, config),
        *([told.mark] if told.mark else []),
    ]
    return Plan(
        tuple(actions),
        status_write(observed, service, parts),
        waiting(observed, service, parts, told),
        events(observed, service, parts),
        (told.call,) if told.call else (),
    )


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


def waiting(observed: Observed, service: RayService, parts: Roles, told: Deployment) -> float | None:
    """Seconds until something is due that no change tells of."""
    waits = [*generations.waiting(observed, service, parts), *silences(parts.active or parts.pending, observed)]
    waits += [wait for wait in (observed.next_try(), told.wait) if wait is not None]
    return max(min(waits), 0.1) if waits else None


def silences(member: Member | None, observed: Observed) -> list[float]:
    """When a dashboard will have said nothing for so long that it is told."""
    since = silent_since(member) if member else None
    left = since + SILENCE - observed.now if since is not None else 0.0
    return [left] if left > 0 else []
