"""Objects of others, and the operator's own marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, ROLES, SERVICES
from rayfleet.planning.actions import Create, Fence
from rayfleet.planning.actions import Patch as Change
from rayfleet.planning.plan import Plan
from rayfleet.raycluster import plan as core
from rayfleet.raycluster import workers
from rayfleet.raycluster.observe import Observer
from rayfleet.raycluster.observed import Observed
from rayfleet.sim.leader import Planner
from tests.sim.mutants import every_kind
from tests.sim.mutants.proof import Mutant, Patch, Proof, changed, seeing


def by_label(patch: Patch) -> Planner:
    """Children are told by their labels and names, not by their owner."""
    observe = Observer.__call__

    async def seeing(self: Observer, reader: Any, key: Any, now: float) -> Observed | None:
        found = await observe(self, reader, key, now)
        if found is None:
            return None
        informers = reader._informers
        pods = [pod for pod in informers[PODS].values() if pod.metadata.label(labels.CLUSTER) == key.name]
        services = [service for service in informers[SERVICES].values() if service.name.startswith(key.name)]
        return replace(found, pods=tuple(pods), services=tuple(services))

    patch.setattr(Observer, "__call__", seeing)
    return core.plan


def names_without_owner(patch: Patch) -> Planner:
    """workersToDelete is believed: whatever Pod has a listed name is deleted."""
    observe = Observer.__call__
    strangers: dict[str, Any] = {}

    async def seeing(self: Observer, reader: Any, key: Any, now: float) -> Observed | None:
        strangers.update({pod.name: pod for pod in reader._informers[PODS].values()})
        return await observe(self, reader, key, now)

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        own = {pod.name for pod in observed.pods}
        groups = getattr(getattr(observed.cluster, "spec", None), "worker_group_specs", ())
        listed = {name for group in groups for name in group.scale_strategy.workers_to_delete}
        victims = [strangers[name] for name in sorted(listed - own) if name in strangers]
        more = [workers.delete(pod, "workersToDelete lists it") for pod in victims]
        return replace(found, actions=(*found.actions, *more))

    patch.setattr(Observer, "__call__", seeing)
    return plan


def service_by_name(patch: Patch) -> Planner:
    """A Service of the right name is taken for ours."""
    observe = Observer.__call__

    async def seeing(self: Observer, reader: Any, key: Any, now: float) -> Observed | None:
        found = await observe(self, reader, key, now)
        services = [service for service in reader._informers[SERVICES].values() if service.name.startswith(f"{key.name}-")]
        return replace(found, services=tuple(services)) if found else None

    patch.setattr(Observer, "__call__", seeing)
    return core.plan


def spec_edited(patch: Patch) -> Planner:
    """The operator puts its own notes where the users write."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(
            found,
            actions=tuple(
                replace(each, annotations={**each.annotations, "kubectl.kubernetes.io/restartedAt": "now"})
                if isinstance(each, Fence) and each.resource == RAYCLUSTERS
                else each
                for each in found.actions
            ),
        )

    return plan


def deletes_without_uid(patch: Patch) -> Planner:
    return every_kind.without_uid(core.plan)


def predecessors_counted(patch: Patch) -> Planner:
    """Pods of a former cluster of the same name are taken for its own (KubeRay #66)."""
    observe = Observer.__call__

    async def seeing(self: Observer, reader: Any, key: Any, now: float) -> Observed | None:
        found = await observe(self, reader, key, now)
        pods = [pod for pod in reader._informers[PODS].values() if any(owner.name == key.name for owner in pod.metadata.owner_references)]
        return replace(found, pods=tuple(pods)) if found else None

    patch.setattr(Observer, "__call__", seeing)
    return core.plan


def labels_and_owner(patch: Patch) -> Planner:
    """A Pod whose cluster label somebody spoiled is no longer counted."""

    def see(observed: Observed) -> Observed:
        name = observed.cluster.metadata.name
        return replace(observed, pods=tuple(pod for pod in observed.pods if pod.metadata.label(labels.CLUSTER) == name))

    return seeing(see)


def role_by_name(patch: Patch) -> Planner:
    """A Role of the right name is taken for ours, and bound (KubeRay does so)."""
    observe = Observer.__call__

    async def seeing(self: Observer, reader: Any, key: Any, now: float) -> Observed | None:
        found = await observe(self, reader, key, now)
        roles = tuple(role for role in reader._informers[ROLES].values() if role.name == key.name)
        return replace(found, others={**found.others, ROLES: roles}) if found else None

    patch.setattr(Observer, "__call__", seeing)
    return core.plan


def nobodys_children(patch: Patch) -> Planner:
    return every_kind.ownerless(core.plan)


def another_namespace(patch: Patch) -> Planner:
    """Children are made where the operator lives."""
    return changed(lambda action: replace(action, namespace="rayfleet-system") if isinstance(action, Create) else action)


def children_not_repaired(patch: Patch) -> Planner:
    """A child is made and never looked at again: edited selectors stay."""
    return changed(lambda action: None if isinstance(action, Change) else action)


MUTANTS: dict[Mutant, Proof] = {
    deletes_without_uid: Proof("S3"),
    by_label: Proof("S3", leaders=2),
    names_without_owner: Proof("S3", story="workers-to-delete"),
    service_by_name: Proof("S3", story="foreign-service"),
    spec_edited: Proof("S14"),
    predecessors_counted: Proof("S3", first=8),
    labels_and_owner: Proof("L1", first=19),
    role_by_name: Proof("S4", story="foreign-role"),
    nobodys_children: Proof("S3", story="create"),
    another_namespace: Proof("S16", story="create"),
    children_not_repaired: Proof("L1", first=2),
}
