"""Known faults with services, put back (reference: reliability, e): each takes a monkeypatch; a planner that it gives runs in place of the
RayService's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import SERVICES
from rayfleet.planning.actions import Patch as Change
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.rayservice import clusters, finalize, generations, serve, traffic
from rayfleet.rayservice import plan as core
from rayfleet.rayservice.observed import Observed
from rayfleet.rayservice.validity import checked
from rayfleet.resources import cluster_hash, ray_service
from rayfleet.sim.leader import Leader, Planner
from tests.sim.mutants import every_kind
from tests.sim.mutants.jobs import Mutant, Patch, Proof


def changed_by(change: Callable[[Observed, Plan], Plan]) -> Planner:
    return lambda observed: change(observed, core.plan(observed))


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
    patch.setattr(serve, "reports", lambda details, config, just=False: True)


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

    return changed_by(changed)


def talks_at_rest(patch: Patch) -> Planner:
    """The status is written at each reconcile (the seed's day: 239 times in ten minutes)."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        found = observed.service
        if found.metadata.deletion_timestamp or plan.status is not None or plan.actions:
            return replace(plan, requeue_after=30.0)
        write = StatusWrite({"serviceStatus": f"looked at {observed.now}"}, found.metadata.resource_version, True, "looked")
        return replace(plan, status=write, requeue_after=30.0)

    return changed_by(changed)


def hash_of_the_operator(patch: Patch) -> None:
    """Each process has another hash for the same spec: its start makes new clusters (KubeRay #2315)."""
    started: list[Leader] = []
    start, real = Leader.start, cluster_hash.cluster_hash

    def begin(self: Leader) -> None:
        started.append(self)
        start(self)

    def hashed(spec: Any, groups: int | None = None) -> str:
        return f"{len(started)}{real(spec, groups)}"[:32]

    patch.setattr(Leader, "start", begin)
    patch.setattr(ray_service, "cluster_hash", hashed)
    patch.setattr(
        cluster_hash, "matches", lambda found, spec, groups: found.metadata.annotation(labels.CLUSTER_HASH) == hashed(spec, groups)
    )


def released_at_once(patch: Patch) -> None:
    """The finalizer goes before the clusters do (KubeRay #4807: there was none)."""
    real = finalize.finalize
    patch.setattr(core, "finalize", lambda observed: real(replace(observed, members=(), spoiled=())))


def turned_service_stays(patch: Patch) -> Planner:
    """A Service that somebody turned away is left so."""
    return every_kind.changing(core.plan, lambda action: None if isinstance(action, Change) and action.resource == SERVICES else action)


def refused(observed: Observed) -> bool:
    return isinstance(checked(observed), tuple)


def no_uid(patch: Patch) -> Planner:
    return every_kind.without_uid(core.plan)


def ownerless_cluster(patch: Patch) -> Planner:
    return every_kind.ownerless(core.plan)


def untested_mark(patch: Patch) -> Planner:
    return every_kind.untested(core.plan)


def conflict_told(patch: Patch) -> Planner:
    return every_kind.conflict_told(core.plan)


def generation_unwritten(patch: Patch) -> Planner:
    return every_kind.generation_unwritten(core.plan)


def refusal_remembered(patch: Patch) -> Planner:
    return every_kind.refusal_remembered(core.plan, refused)


MUTANTS: dict[Mutant, Proof] = {
    moves_too_early: Proof("V2"),
    old_cluster_is_told: Proof("V1"),
    third_cluster: Proof("S9", first=6),
    apps_forgotten: Proof("L1"),
    old_cluster_stays: Proof("L1"),
    any_cluster_will_do: Proof("L1", first=6),
    never_suspended: Proof("S10", first=11),
    sent_at_each_look: Proof("W1"),
    talks_at_rest: Proof("W1"),
    generation_unwritten: Proof("W2"),
    no_uid: Proof("S3"),
    ownerless_cluster: Proof("S3"),
    untested_mark: Proof("S15"),
    turned_service_stays: Proof("L1"),
    conflict_told: Proof("W4"),
    hash_of_the_operator: Proof("V0"),
    released_at_once: Proof("S12"),
    refusal_remembered: Proof("L1"),
}
