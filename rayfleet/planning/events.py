"""From what was done to what is told: one sentence for all actions of one kind on one subject."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.planning.actions import Action, Create, Delete, Fence, Patch
from rayfleet.planning.plan import Event

NAMES_TOLD = 3
NOTE_LIMIT = 1024


def sentences(actions: Iterable[Action]) -> tuple[Event, ...]:
    """Events for actions that succeeded, grouped by (reason of the event, subject, why), in the order of first appearance.

    "Created 3 worker Pods of group small (demo-small-worker-b4k2x, ...): 0 of 3 replicas are there"
    """
    groups: dict[tuple[str, str, str], list[Create | Patch | Delete]] = {}
    for action in actions:
        if not isinstance(action, Fence) and action.event:
            groups.setdefault((action.event, action.subject.one, action.reason), []).append(action)
    return tuple(Event("Normal", event, told(group), verb(group[0])) for (event, _, _), group in groups.items())


def told(group: list[Create | Patch | Delete]) -> str:
    """One sentence for a group of equal actions."""
    first = group[0]
    names = ", ".join(sorted(action.name for action in group)[:NAMES_TOLD])
    if len(group) == 1:
        return clip(f"{past(first)} {first.subject.one} {first.name}: {first.reason}")
    more = ", ..." if len(group) > NAMES_TOLD else ""
    return clip(f"{past(first)} {len(group)} {first.subject.many} ({names}{more}): {first.reason}")


def verb(action: Create | Patch | Delete) -> str:
    """The event's `action` field, as KubeRay fills it."""
    return {Create: "Create", Patch: "Update", Delete: "Delete"}[type(action)]


def past(action: Create | Patch | Delete) -> str:
    return {Create: "Created", Patch: "Updated", Delete: "Deleted"}[type(action)]


def clip(text: str) -> str:
    """The API refuses notes of more than 1,024 characters."""
    return text if len(text) <= NOTE_LIMIT else text[: NOTE_LIMIT - 3] + "..."
