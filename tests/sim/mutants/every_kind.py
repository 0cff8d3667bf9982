"""Known faults that any kind's planner may have: each takes the planner and gives one with the fault in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rayfleet.planning.actions import Action, Create, Delete, Fence, RemoveFinalizer
from rayfleet.planning.plan import Event, Plan
from rayfleet.sim.leader import Planner

Change = Callable[[Action], Action | None]


def changing(plan_of: Planner, change: Change) -> Planner:
    """Each action is changed, or left out (None)."""

    def plan(observed: Any) -> Plan:
        found = plan_of(observed)
        return replace(found, actions=tuple(action for each in found.actions if (action := change(each)) is not None))

    return plan


def without_uid(plan_of: Planner) -> Planner:
    """A delete names no UID."""
    return changing(plan_of, lambda action: replace(action, uid="") if isinstance(action, Delete) else action)


def untested(plan_of: Planner) -> Planner:
    """A mark is written without the version that was seen."""
    return changing(plan_of, lambda action: replace(action, resource_version="") if isinstance(action, Fence | RemoveFinalizer) else action)


def ownerless(plan_of: Planner) -> Planner:
    """Children carry no reference to their owner: nobody collects them."""

    def orphaned(action: Action) -> Action:
        if not isinstance(action, Create):
            return action
        metadata = {name: value for name, value in action.manifest["metadata"].items() if name != "ownerReferences"}
        return replace(action, manifest={**action.manifest, "metadata": metadata})

    return changing(plan_of, orphaned)


def conflict_told(plan_of: Planner) -> Planner:
    """A conflict is told as if it were news (KubeRay #745)."""
    event = Event("Warning", "Failed", "the object has been modified", "Reconcile")

    def plan(observed: Any) -> Plan:
        found = plan_of(observed)
        return replace(found, events=(*found.events, event)) if found.actions else found

    return plan


def generation_unwritten(plan_of: Planner) -> Planner:
    """observedGeneration stays behind."""

    def plan(observed: Any) -> Plan:
        found = plan_of(observed)
        if found.status is None:
            return found
        kept = {name: value for name, value in found.status.patch.items() if name != "observedGeneration"}
        return replace(found, status=replace(found.status, patch=kept) if kept else None)

    return plan


def refusal_remembered(plan_of: Planner, is_refused: Callable[[Any], bool]) -> Planner:
    """What was refused once is never looked at again (Acto: no recovery by a rollback)."""
    refused: set[str] = set()

    def plan(observed: Any) -> Plan:
        if (uid := uid_of(observed)) in refused:
            return Plan()
        if is_refused(observed):
            refused.add(uid)
        return plan_of(observed)

    return plan


def uid_of(observed: Any) -> str:
    owner = next(getattr(observed, name) for name in ("job", "service", "cluster", "cron") if hasattr(observed, name))
    return str(owner.metadata.uid)
