"""Which names of a definition are its own, and which another one of its group has already (apiextensions-apiserver's naming controller)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rayfleet.apiserver import metadata
from rayfleet.apiserver.record import Obj

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
Told = tuple[str, str, str]
"""(status, reason, message) of a condition"""

_ACCEPTED: Told = ("True", "NoConflicts", "no conflicts found")
_ESTABLISHED: Told = ("True", "InitialNamesAccepted", "the initial names have been accepted")
_NOT_ESTABLISHED: Told = ("False", "NotAccepted", "not all names are accepted")


def accept(api: Api, definition: Obj, status: Obj) -> None:
    """Sets acceptedNames and the conditions in `status`. What was accepted once stays accepted, as its objects are there."""
    resources, kinds = _taken(api, definition)
    wanted, before = definition["spec"]["names"], status.get("acceptedNames") or {}
    accepted: Obj = {"plural": "", "kind": "", **before}
    told = _ACCEPTED
    for name, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        asked = wanted.get(name)
        clash = [each for each in _each(asked) if each in taken and each not in _each(before.get(name))]
        if clash:
            told = ("False", reason, ", ".join(f'"{each}" is already in use' for each in clash))
        elif asked:
            accepted[name] = asked
        else:
            accepted.pop(name, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    established = _ESTABLISHED if told == _ACCEPTED or is_established(status) else _NOT_ESTABLISHED
    status["acceptedNames"] = {name: accepted[name] for name in [*wanted, *accepted] if name in accepted}
    _set(status, "NamesAccepted", told, api.clock())
    _set(status, "Established", established, api.clock())


def is_established(status: Obj) -> bool:
    """Its kind is served."""
    return _holds(status, "Established")


def is_named(status: Obj) -> bool:
    """Nobody else has its names."""
    return _holds(status, "NamesAccepted")


def _holds(status: Obj, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or ())


def _taken(api: Api, definition: Obj) -> tuple[set[str], set[str]]:
    """The names of resources and of kinds that others of the group have."""
    resources, kinds = set[str](), set[str]()
    for record in api.store.select(DEFINITIONS):
        other = record.decode()
        if record.name == definition["metadata"]["name"] or other["spec"]["group"] != definition["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        for name in ("plural", "singular", "shortNames"):
            resources.update(_each(names.get(name)))
        kinds.update([*_each(names.get("kind")), *_each(names.get("listKind"))])
    return resources, kinds


def _each(names: object) -> Iterable[str]:
    return names if isinstance(names, list) else [str(names)] if names else []


def _set(status: Obj, kind: str, told: Told, now: float) -> None:
    """A condition keeps its place, and its time while it says the same."""
    conditions = status.setdefault("conditions", [])
    new = dict(zip(("type", "status", "reason", "message"), (kind, *told), strict=True))
    for place, each in enumerate(conditions):
        if each["type"] == kind:
            since = each["lastTransitionTime"] if each["status"] == told[0] else metadata.timestamp(now)
            conditions[place] = {**new, "lastTransitionTime": since}
            return
    conditions.append({**new, "lastTransitionTime": metadata.timestamp(now)})
