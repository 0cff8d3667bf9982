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
class Call:
    """Have somebody outside of Kubernetes told something. It is handed over and not waited for: what became of it is observed later.

    `target` and `message` are for whoever carries it. `note` is the sentence of the event when it was taken, `subject` what the event of a
    refusal begins with. A refusal is counted in the scope like an action's, so that a plan repeats it only when its back-off is over.
    """

    target: Any
    message: Any
    scope: str
    subject: str
    note: str
    event: str
    failed_event: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`calls` are handed over once all actions are done. `requeue_after` is in seconds; None means: wait until something changes."""

    actions: tuple[Action, ...] = ()
    status: StatusWrite | None = None
    requeue_after: float | None = None
    events: tuple[Event, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def done(self) -> bool:
        """Is this the fixed point?"""
        return not self.actions and self.status is None and not self.calls

    @property
    def scopes(self) -> frozenset[str]:
        """Where something is wanted."""
        return frozenset(each.scope for each in (*self.actions, *self.calls))

    def stages(self) -> tuple[tuple[Action, ...], ...]:
        """Groups of actions in order; those of one group may run side by side. Each fence and each new finalizer stands alone."""
        fences = tuple((action,) for action in self.actions if isinstance(action, Fence | AddFinalizer))
        rest = tuple(action for action in self.actions if not isinstance(action, Fence | AddFinalizer))
        return (*fences, rest) if rest else fences
