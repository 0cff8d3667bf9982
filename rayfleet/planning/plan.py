"""A plan: what to do next, and what to say of it. A plan with no actions and no status change is the fixed point: that is "reconciled"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.planning.actions import Action, AddFinalizer, Fence


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """A change of an object's status.

    `patch` is a JSON merge patch of the fields under `status` that change (conditions as a whole list). `urgent` is False when only
    counters move: the runtime then gathers the changes of a second into one write.
    """

    patch: Mapping[str, Any]
    resource_version: str
    urgent: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling an object's owner. `type` is Normal or Warning, `reason` CamelCase, `note` one sentence."""

    type: str
    reason: str
    note: str
    action: str = "Reconcile"


@dataclass(frozen=True, slots=True)
class Plan:
    """`requeue_after` is in seconds; None means: wait until something changes."""

    actions: tuple[Action, ...] = ()
    status: StatusWrite | None = None
    requeue_after: float | None = None
    events: tuple[Event, ...] = ()

    @property
    def done(self) -> bool:
        """Is this the fixed point?"""
        return not self.actions and self.status is None

    def stages(self) -> tuple[tuple[Action, ...], ...]:
        """Groups of actions in order; those of one group may run side by side. Each fence and each new finalizer stands alone."""
        fences = tuple((action,) for action in self.actions if isinstance(action, Fence | AddFinalizer))
        rest = tuple(action for action in self.actions if not isinstance(action, Fence | AddFinalizer))
        return (*fences, rest) if rest else fences
