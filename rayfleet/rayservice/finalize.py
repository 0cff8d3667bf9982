"""A service is held by a finalizer until none of its clusters is left (KubeRay, 4.1)."""

from __future__ import annotations

from dataclasses import replace

from rayfleet.api import labels
from rayfleet.api.meta import RAYSERVICES
from rayfleet.planning.actions import Action, AddFinalizer, RemoveFinalizer, Subject
from rayfleet.planning.plan import Plan
from rayfleet.rayservice.generations import remove
from rayfleet.rayservice.observed import Observed

SCOPE = "finalizer"
OWNER = Subject("RayService", "RayServices")


def hold(observed: Observed) -> list[AddFinalizer]:
    """The finalizer of a service that lacks it, before anything is made."""
    meta = observed.service.metadata
    held = meta.finalizers or ()
    if labels.SERVICE_FINALIZER in held:
        return []
    add = AddFinalizer(
        resource=RAYSERVICES,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        finalizers=(*held, labels.SERVICE_FINALIZER),
        scope=SCOPE,
        reason="its clusters go first",
        subject=OWNER,
        event="",
        failed_event="FailedToAddFinalizer",
    )
    return [add]


def finalize(observed: Observed) -> Plan:
    """The plan for a service that was deleted."""
    if labels.SERVICE_FINALIZER not in (observed.service.metadata.finalizers or ()):
        return Plan()
    if observed.members or observed.spoiled:
        living = [member for member in observed.members if member.living]
        deletes: list[Action] = [
            replace(delete, event="") for each in living for delete in remove(observed, each, "its service was deleted")
        ]
        return Plan(tuple(deletes), requeue_after=observed.next_try())
    return Plan(() if observed.held_back(SCOPE) else (release(observed),), requeue_after=observed.next_try())


def release(observed: Observed) -> RemoveFinalizer:
    meta = observed.service.metadata
    return RemoveFinalizer(
        resource=RAYSERVICES,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        finalizers=tuple(name for name in meta.finalizers or () if name != labels.SERVICE_FINALIZER),
        scope=SCOPE,
        reason="none of its clusters is left",
        subject=OWNER,
        event="",
        failed_event="FailedToRemoveFinalizer",
    )
