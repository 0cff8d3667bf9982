"""metadata.managedFields: who owns which field of an object, and who may not write whose.

They are kept from the first server-side apply on: an object that never met one costs nothing, and its fields then belong to
"before-first-apply", as Kubernetes has it for objects from before it kept them.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rayfleet.apiserver import ownership
from rayfleet.apiserver.field_paths import NOTHING, FieldSet, Path, decoded, encoded, text, upward, without
from rayfleet.apiserver.field_shapes import Shape
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, StatusError, applied_against

APPLY, UPDATE = "Apply", "Update"
BEFORE = "before-first-apply"
KUBECTL = "kubectl"


class Manager(NamedTuple):
    """The order is that of the list."""

    operation: str
    name: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        where = f' with subresource "{self.subresource}"' if self.subresource else ""
        return f'"{self.name}"{where}' + (f" using {self.api_version}" if self.operation == UPDATE else "")


@dataclass(frozen=True, slots=True)
class Held:
    fields: FieldSet
    since: str


Managers = dict[Manager, Held]


def read(entries: Any) -> Managers:
    """Of metadata.managedFields; empty where there are none or one of them makes no sense."""
    managers: Managers = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
            return {}
        words = (str(entry.get(name) or "") for name in ("operation", "manager", "apiVersion", "subresource"))
        managers[Manager(*words)] = Held(decoded(entry.get("fieldsV1")), str(entry.get("time") or ""))
    return managers


def written(managers: Managers) -> list[Obj]:
    ordered = sorted(managers.items(), key=lambda each: (each[0].operation, each[1].since, each[0]))
    return [_entry(manager, held) for manager, held in ordered if held.fields]


def _entry(manager: Manager, held: Held) -> Obj:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": held.since,
        "fieldsType": "FieldsV1",
        "fieldsV1": encoded(held.fields),
    }
    return {**entry, "subresource": manager.subresource} if manager.subresource else entry


def applied(live: Obj, given: Obj, managers: Managers, who: Manager, shape: Shape, *, force: bool, now: str) -> tuple[Obj, Managers]:
    """The object as `who` wants it, and who owns what then. `live` and `given` are what can be owned.

    Raises StatusError 409 when it would change what others own, unless forced.
    """
    wanted = ownership.fields_of(given, shape)
    merged = ownership.merged(live, given, shape)
    touched, _ = ownership.changes(live, merged, shape)
    others = {manager: held for manager, held in managers.items() if manager != who}
    conflicts = {manager: held.fields & touched for manager, held in others.items()}
    if not force and who.name == KUBECTL and who not in managers:
        conflicts = _less_the_last_applied(conflicts, live, shape)
    if not force and any(conflicts.values()):
        raise _refusal({manager: fields for manager, fields in conflicts.items() if fields})
    others = {manager: replace(held, fields=held.fields - touched) for manager, held in others.items()}
    merged = _pruned(merged, managers.get(who, Held(NOTHING, now)).fields - wanted, others, shape)
    before = managers.get(who)
    since = before.since if before and before.fields == wanted and merged == live else now
    return merged, {**others, who: Held(wanted, since)}


def updated(old: Obj, new: Obj, managers: Managers, who: Manager, shape: Shape, now: str) -> Managers:
    """Who owns what after a write that was no apply."""
    touched, gone = ownership.changes(old, new, shape)
    if not touched and not gone:
        return managers
    lost = {manager: replace(held, fields=without(held.fields - touched, gone)) for manager, held in managers.items() if manager != who}
    held = managers.get(who, Held(NOTHING, now)).fields
    return {**lost, who: Held(without(held, gone) | touched, now)}


def after_update(old: Obj, new: Obj, asked: Any, who: Manager, shape: Shape, now: str) -> list[Obj]:
    """metadata.managedFields after a write that was no apply; `asked` is what it says of them itself. An empty list ends their keeping."""
    kept = old["metadata"].get("managedFields")
    if kept and asked in ([], [{}]):
        return []
    return written(updated(ownership.ownable(old), ownership.ownable(new), read(asked) or read(kept), who, shape, now))


def first(live: Obj, api_version: str, shape: Shape, now: str) -> Managers:
    """Of an object that no apply has met yet."""
    return {Manager(UPDATE, BEFORE, api_version): Held(ownership.fields_of(live, shape), now)}


def _pruned(merged: Obj, left_out: FieldSet, others: Mapping[Manager, Held], shape: Shape) -> Obj:
    """Fields that the manager gave before and gives no more go, unless somebody else has them or a part of them."""
    kept = upward(path for held in others.values() for path in held.fields) if left_out else ()
    doomed = frozenset(path for path in left_out if path not in kept)
    pruned: Obj = ownership.stripped(merged, shape, doomed) if doomed else merged
    return pruned


def _less_the_last_applied(conflicts: Mapping[Manager, FieldSet], live: Obj, shape: Shape) -> dict[Manager, FieldSet]:
    """kubectl may go on from its own client-side apply: what that gave, and still stands, is its own."""
    last = ownership.ownable(ownership.last_applied(live))
    changed, _ = ownership.changes(live, ownership.merged(live, last, shape), shape)
    own = ownership.fields_of(last, shape) - changed
    return {manager: fields - own for manager, fields in conflicts.items()}


def _order(path: Path) -> list[tuple[bool, str, str]]:
    """As Kubernetes lists paths: what is owned at a level comes before what is owned below it."""
    return [(depth + 1 < len(path), *step) for depth, step in enumerate(path)]


def _refusal(conflicts: Mapping[Manager, FieldSet]) -> StatusError:
    found: list[tuple[Manager, Path]] = [
        (manager, path) for manager in sorted(conflicts, key=str) for path in sorted(conflicts[manager], key=_order)
    ]
    causes = [Cause(text(path), "FieldManagerConflict", f"conflict with {manager}") for manager, path in found]
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lists = [
            "\n".join((f"conflicts with {manager}:", *(f"- {text(path)}" for path in sorted(paths, key=_order))))
            for manager, paths in sorted(conflicts.items(), key=lambda each: str(each[0]))
        ]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lists)
    return applied_against(message, causes)
