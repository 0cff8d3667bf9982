"""From what was done to what is told: one sentence for all actions of one kind on one subject."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.api.excerpt import clip
from rayfleet.planning.actions import Action, AddFinalizer, Create, Delete, Fence, Patch, RemoveFinalizer, Resize
from rayfleet.planning.plan import Event

NAMES_TOLD = 3
Told = AddFinalizer | RemoveFinalizer | Create | Patch | Delete


def sentences(actions: Iterable[Action]) -> tuple[Event, ...]:
    """Events for actions that succeeded, grouped by (reason of the event, subject, why), in the order of first appearance.

    "Created 3 worker Pods of group small (demo-small-worker-b4k2x, ...): 0 of 3 replicas are there"
    """
    groups: dict[tuple[str, str, str], list[Told]] = {}
    said: list[Event] = []
    for action in actions:
        if isinstance(action, Resize):
            said += [Event("Normal", reason, clip(note), "Resize") for reason, note in action.events]
        elif not isinstance(action, Fence) and action.event:
            groups.setdefault((action.event, action.subject.one, action.reason), []).append(action)
    return (*said, *(Event(kind(group[0]), event, told(group), verb(group[0])) for (event, _, _), group in groups.items()))


def kind(action: Told) -> str:
    """The event's type."""
    return "Warning" if isinstance(action, RemoveFinalizer) and action.warns else "Normal"


def told(group: list[Told]) -> str:
    """One sentence for a group of equal actions."""
    first = group[0]
    names = ", ".join(sorted(action.name for action in group)[:NAMES_TOLD])
    if len(group) == 1:
        return clip(f"{past(first)} {first.subject.one} {first.name}: {first.reason}")
    more = ", ..." if len(group) > NAMES_TOLD else ""
    return clip(f"{past(first)} {len(group)} {first.subject.many} ({names}{more}): {first.reason}")


def verb(action: Told) -> str:
    """The event's `action` field, as KubeRay fills it."""
    return {Create: "Create", Patch: "Update", Delete: "Delete", AddFinalizer: "Update", RemoveFinalizer: "Cleanup"}[type(action)]


def past(action: Told) -> str:
    return {Create: "Created", Patch: "Updated", Delete: "Deleted", AddFinalizer: "Held", RemoveFinalizer: "Released"}[type(action)]
