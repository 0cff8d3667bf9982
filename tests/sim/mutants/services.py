"""Known faults with services, put back (reference: reliability, e): each takes a monkeypatch; a planner that it gives runs in place of the
RayService's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from rayfleet.api.meta import RAYCLUSTERS, SERVICES
from rayfleet.planning.actions import Action, Create, Delete, Fence, RemoveFinalizer
from rayfleet.planning.actions import Patch as Change
from rayfleet.planning.plan import Event, Plan, StatusWrite
from rayfleet.rayservice import clusters, generations, serve, traffic
from rayfleet.rayservice import plan as core
from rayfleet.rayservice.observed import Observed
from rayfleet.sim.leader import Planner
from tests.sim.mutants.jobs import Mutant, Patch, Proof


def planner(change: Callable[[Observed, Plan], Plan]) -> Planner:
    return lambda observed: change(observed, core.plan(observed))


def each(change: Callable[[Action], Action | None]) -> Planner:
    def changed(observed: Observed, plan: Plan) -> Plan:
        return replace(plan, actions=tuple(action for found in plan.actions if (action := change(found)) is not None))

    return planner(changed)


def moves_too_early(patch: Patch) -> None:
    """Traffic moves as soon as the new cluster is there (KubeRay #1559)."""
    patch.setattr(traffic, "runs_all", lambda member, config: True)
    patch.setattr(traffic, "serving_pods", lambda member: 1)


def old_cluster_is_told(patch: Patch) -> None:
    """The config goes to the active cluster, also while another one is to take its place (KubeRay #4717)."""
    real = clusters.roles

    def roles(observed: Observed, service: Any) -> Any:
        found = real(observed, service)
        return replace(found, goal=found.active or found.goal)

    patch.setattr(core, "roles", roles)


def third_cluster(patch: Patch) -> None:
    """A third cluster is made while two live."""
    patch.setattr(generations, "has_room", lambda observed: True)


def apps_forgotten(patch: Patch) -> None:
    """Applications are not sent again after the head was lost (KubeRay #1420)."""
    patch.setattr(serve, "reports", lambda details, config: True)


def old_cluster_stays(patch: Patch) -> None:
    """The old cluster is never deleted (KubeRay #2374)."""
    patch.setattr(generations, "left", lambda observed, service, since: 1.0)


def any_cluster_will_do(patch: Patch) -> None:
    """The first cluster is taken for the newest (KubeRay #4989)."""
    patch.setattr(clusters, "is_made_for", lambda cluster, spec: True)


def never_suspended(patch: Patch) -> Planner:
    """A suspended service goes on (all that it made goes, and comes again)."""

    def plan(observed: Observed) -> Plan:
        spec = getattr(observed.service, "spec", None)
        if spec is None or not spec.suspend or observed.service.metadata.deletion_timestamp:
            return core.plan(observed)
        awake = msgspec.structs.replace(observed.service, spec=msgspec.structs.replace(spec, suspend=False))
        return core.plan(replace(observed, service=awake))

    return plan


def sent_at_each_look(patch: Patch) -> Planner:
    """What Ray was told is told again every half minute."""
    calls: dict[str, Any] = {}

    def changed(observed: Observed, plan: Plan) -> Plan:
        for call in plan.calls:
            calls[call.target.cluster.name] = call
        living = {member.name: member for member in observed.members if member.living and member.target}
        again = [replace(call, target=living[name].target) for name, call in calls.items() if name in living and len(living) == 1]
        return replace(plan, calls=tuple(again) or plan.calls, requeue_after=30.0)

    return planner(changed)


def talks_at_rest(patch: Patch) -> Planner:
    """The status is written at each reconcile (the seed's day: 239 times in ten minutes)."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        found = observed.service
        if found.metadata.deletion_timestamp or plan.status is not None or plan.actions:
            return replace(plan, requeue_after=30.0)
        write = StatusWrite({"serviceStatus": f"looked at {observed.now}"}, found.metadata.resource_version, True, "looked")
        return replace(plan, status=write, requeue_after=30.0)

    return planner(changed)


def generation_unwritten(patch: Patch) -> Planner:
    """observedGeneration is not written."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        if plan.status is None:
            return plan
        kept = {name: value for name, value in plan.status.patch.items() if name != "observedGeneration"}
        return replace(plan, status=replace(plan.status, patch=kept))

    return planner(changed)


def no_uid(patch: Patch) -> Planner:
    """A delete names no UID."""
    return each(lambda action: replace(action, uid="") if isinstance(action, Delete) else action)


def ownerless_cluster(patch: Patch) -> Planner:
    """The cluster has no owner: nobody removes it."""

    def change(action: Action) -> Action:
        if not isinstance(action, Create) or action.resource != RAYCLUSTERS:
            return action
        meta = {name: value for name, value in action.manifest["metadata"].items() if name != "ownerReferences"}
        return replace(action, manifest={**action.manifest, "metadata": meta})

    return each(change)


def untested_mark(patch: Patch) -> Planner:
    """A mark is written without the version that was seen."""
    return each(lambda action: replace(action, resource_version="") if isinstance(action, Fence | RemoveFinalizer) else action)


def turned_service_stays(patch: Patch) -> Planner:
    """A Service that somebody turned away is left so."""
    return each(lambda action: None if isinstance(action, Change) and action.resource == SERVICES else action)


def conflict_told(patch: Patch) -> Planner:
    """A conflict is told as if it were news (KubeRay #745)."""
    event = Event("Warning", "Failed", "the object has been modified", "Reconcile")
    return planner(lambda observed, plan: replace(plan, events=(*plan.events, event)) if plan.actions else plan)


MUTANTS: dict[Mutant, Proof] = {
    moves_too_early: Proof("V2"),
    old_cluster_is_told: Proof("V1"),
    third_cluster: Proof("S9"),
    apps_forgotten: Proof("L1"),
    old_cluster_stays: Proof("L1"),
    any_cluster_will_do: Proof("L1"),
    never_suspended: Proof("S10", first=1),
    sent_at_each_look: Proof("W1"),
    talks_at_rest: Proof("W1"),
    generation_unwritten: Proof("W2"),
    no_uid: Proof("S3"),
    ownerless_cluster: Proof("S3"),
    untested_mark: Proof("S15"),
    turned_service_stays: Proof("L1"),
    conflict_told: Proof("W4"),
}
