"""Known faults of operators, put back into this one: each takes a monkeypatch and gives the planner to run.

Where a mutant can be made around the planner it is, so that it outlives a rewrite of what is inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES
from rayfleet.planning.actions import Create, Delete, Fence
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.raycluster import fences, workers
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.lives import Lives
from rayfleet.raycluster.observe import Observer
from rayfleet.raycluster.observed import Observed
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.gone import Gone
from rayfleet.sim.leader import Planner

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], Planner]


def stale_names(patch: Patch) -> Planner:
    """Lives are never raised: a name comes back."""
    patch.setattr(fences, "used_names", lambda observed, cluster: {pod.name for pod in observed.pods})
    patch.setattr(fences, "raised_for", lambda observed, cluster, deletes: (observed.lives, False))
    return core.plan


def unfenced_deletes(patch: Patch) -> Planner:
    """Names are not given up before their Pods are deleted: only this process knows that they were used."""
    patch.setattr(fences, "raised_for", lambda observed, cluster, deletes: (observed.lives, False))
    return core.plan


def fences_not_written(patch: Patch) -> Planner:
    """Lives are raised in the head, and not on the owner."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(action for action in found.actions if not isinstance(action, Fence)))

    return plan


def lives_of_all(patch: Patch) -> Planner:
    """One number of lives for the whole cluster: a raise renames empty slots under another leader's create."""

    def raised(self: Lives, group: str, replica: int) -> Lives:
        most = max(self.counts.values(), default=0) + 1
        return Lives({("", 0): most})

    patch.setattr(Lives, "raised", raised)
    patch.setattr(Lives, "of", lambda self, group, replica: self.counts.get(("", 0), 0))
    return core.plan


def forgotten_names(patch: Patch) -> Planner:
    """The process does not remember which Pods it saw go."""
    patch.setattr(Gone, "of", lambda self, uid: frozenset())
    return core.plan


def deletes_without_uid(patch: Patch) -> Planner:
    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(replace(each, uid="") if isinstance(each, Delete) else each for each in found.actions))

    return plan


def random_names(patch: Patch) -> Planner:
    """Names by dice, as most operators have them: a repeated create makes a second Pod."""
    dice = count()

    def renamed(action: Any) -> Any:
        if not isinstance(action, Create) or action.resource != PODS:
            return action
        name = f"{action.name}-{next(dice)}"
        metadata = {**action.manifest["metadata"], "name": name}
        return replace(action, name=name, manifest={**action.manifest, "metadata": metadata})

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(renamed(action) for action in found.actions))

    return plan


def status_twice(patch: Patch) -> Planner:
    """A status is written at every look, if only for its time."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        version = observed.cluster.metadata.resource_version
        again = StatusWrite({"lastUpdateTime": "2026-01-01T00:00:00Z"}, version, True, "again")
        return found if found.status else replace(found, status=again)

    return plan


def status_untested(patch: Patch) -> Planner:
    """A status is written whatever happened to the object meanwhile."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, status=replace(found.status, resource_version="")) if found.status else found

    return plan


def generation_not_told(patch: Patch) -> Planner:
    """observedGeneration stays behind."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        if found.status is None:
            return found
        told = {name: value for name, value in found.status.patch.items() if name != "observedGeneration"}
        return replace(found, status=replace(found.status, patch=told))

    return plan


def impatient_head(patch: Patch) -> Planner:
    """A new head is made while the old one still ends."""

    def plan(observed: Observed) -> Plan:
        mine = core.plan(observed)
        alive = tuple(pod for pod in observed.pods if not (pod.is_head and pod.terminating))
        if len(alive) == len(observed.pods) or any(pod.is_head for pod in alive):
            return mine
        gone = frozenset({pod.name for pod in observed.pods if pod.is_head}) | observed.gone
        return core.plan(replace(observed, pods=alive, gone=gone))

    return plan


def restless_delete(patch: Patch) -> Planner:
    """The deletion of the cluster itself is not seen."""

    def plan(observed: Observed) -> Plan:
        metadata = msgspec.structs.replace(observed.cluster.metadata, deletion_timestamp=None)
        return core.plan(replace(observed, cluster=msgspec.structs.replace(observed.cluster, metadata=metadata)))

    return plan


def suspension_unseen(patch: Patch) -> Planner:
    """Pods are made for a suspended cluster."""

    def awake(observed: Observed) -> Plan:
        cluster: Any = observed.cluster
        if not getattr(getattr(cluster, "spec", None), "suspend", None):
            return core.plan(observed)
        spec = msgspec.structs.replace(cluster.spec, suspend=False)
        return core.plan(replace(observed, cluster=msgspec.structs.replace(cluster, spec=spec)))

    return awake


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


def dead_head_kept(patch: Patch) -> Planner:
    """A head that has failed for good is waited for."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(each for each in found.actions if not (isinstance(each, Delete) and each.scope == "head")))

    return plan


def one_too_many(patch: Patch) -> Planner:
    """Whatever is made is made twice: the second time under the names of the next life."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        made = {action.name for action in found.actions if isinstance(action, Create)}
        again = core.plan(replace(observed, gone=observed.gone | made))
        return replace(found, actions=(*found.actions, *(action for action in again.actions if isinstance(action, Create))))

    return plan


def failures_kept(patch: Patch) -> Planner:
    """What once failed is told for ever."""
    patch.setattr(Backoffs, "succeeded", lambda self, key, scope: None)
    patch.setattr(Backoffs, "settle", lambda self, *given: False)
    return core.plan


def surplus_kept(patch: Patch) -> Planner:
    """Nothing is deleted that still works."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(each for each in found.actions if not isinstance(each, Delete) or each.setback))

    return plan


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


@dataclass(frozen=True)
class Proof:
    """The invariant that is to break, and where: in a story, in a rush of two operators, or in storms."""

    invariant: str
    leaders: int = 1
    story: str = ""
    rush: bool = False


MUTANTS: dict[Mutant, Proof] = {
    stale_names: Proof("N1"),
    unfenced_deletes: Proof("N1"),
    fences_not_written: Proof("N1"),
    lives_of_all: Proof("S2", rush=True),
    forgotten_names: Proof("N1", leaders=2),
    deletes_without_uid: Proof("S3"),
    random_names: Proof("S1", rush=True),
    status_twice: Proof("W2"),
    status_untested: Proof("S15"),
    generation_not_told: Proof("W2"),
    impatient_head: Proof("S1"),
    restless_delete: Proof("S11", leaders=2),
    suspension_unseen: Proof("S10", leaders=2),
    by_label: Proof("S3", leaders=2),
    names_without_owner: Proof("S3", story="workers-to-delete"),
    service_by_name: Proof("S3", story="foreign-service"),
    dead_head_kept: Proof("L1"),
    one_too_many: Proof("S1"),
    failures_kept: Proof("L1"),
    surplus_kept: Proof("L1", leaders=2),
    spec_edited: Proof("S14"),
}
