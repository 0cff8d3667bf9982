"""A service is held by a finalizer until none of its clusters is left (KubeRay, 4.1)."""

from __future__ import annotations

from dataclasses import replace

from rayfleet.api import labels
from rayfleet.api.meta import RAYSERVICES
from rayfleet.planning.actions import Action, AddFinalizer
from rayfleet.planning.finalizer import SCOPE, held, released
from rayfleet.planning.plan import Plan
from rayfleet.rayservice.generations import remove
from rayfleet.rayservice.observed import Observed


def hold(observed: Observed) -> list[AddFinalizer]:
    """The finalizer of a service that lacks it, before anything is made."""
    return held(RAYSERVICES, observed.service.metadata, labels.SERVICE_FINALIZER, "its clusters go first")


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
    free = released(RAYSERVICES, observed.service.metadata, labels.SERVICE_FINALIZER, "none of its clusters is left")
    return Plan(() if observed.held_back(SCOPE) else (free,), requeue_after=observed.next_try())
