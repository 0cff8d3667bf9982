"""LimitRanges: what a container gets that asks for nothing, and what no Pod may ask for (plugin/pkg/admission/limitranger)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rayfleet.api.quantity import ZERO, Quantity, parse
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import forbidden

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

RANGES = "limitranges"
_NOTE = "kubernetes.io/limit-ranger"
_GROUPS = {"containers": "container", "initContainers": "init container"}
_ASKED = {"requests": "defaultRequest", "limits": "default"}


def default_range(obj: Obj) -> None:
    """Of a container: what it may have at most it gets, and what it gets it asks for (pkg/apis/core/v1/defaults.go)."""
    for limit in obj.setdefault("spec", {}).setdefault("limits", None) or ():
        for member in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            if member in limit:
                limit[member] = {name: str(parse(value)) for name, value in limit[member].items()}
        if limit.get("type") != "Container":
            continue
        given = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        asked = {**(limit.get("min") or {}), **given, **(limit.get("defaultRequest") or {})}
        asked = {name: (limit.get("defaultRequest") or {}).get(name) or given.get(name) or value for name, value in asked.items()}
        if given:
            limit["default"] = given
        if asked:
            limit["defaultRequest"] = asked


def fill(api: Api, pod: Obj) -> None:
    """Gives each container the defaults of its namespace, and says so in an annotation."""
    notes: list[str] = []
    for record in api.store.select(RANGES, pod["metadata"]["namespace"]):
        defaults = _defaults(record.decode())
        for group, word in _GROUPS.items():
            for container in pod["spec"].get(group) or ():
                notes += _filled(container, defaults, word)
    if notes:
        pod["metadata"].setdefault("annotations", {})[_NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _defaults(obj: Obj) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in obj["spec"].get("limits") or ():
        for member, source in _ASKED.items() if limit.get("type") == "Container" else ():
            found[member] |= limit.get(source) or {}
    return found


def _filled(container: Obj, defaults: dict[str, dict[str, str]], word: str) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for member, word_of in (("requests", "request"), ("limits", "limit")):
        missing = {name: value for name, value in defaults[member].items() if name not in (resources.get(member) or {})}
        if missing:
            resources[member] = {**(resources.get(member) or {}), **missing}
            yield f"{', '.join(sorted(missing))} {word_of} for {word} {container['name']}"


def check(api: Api, pod: Obj) -> None:
    """Raises 403."""
    for record in api.store.select(RANGES, pod["metadata"]["namespace"]):
        wrong = list(_wrong(record.decode(), pod))
        if wrong:
            raise forbidden("", "pods", pod["metadata"]["name"], wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


def _wrong(obj: Obj, pod: Obj) -> Iterator[str]:
    containers = [each for group in _GROUPS for each in pod["spec"].get(group) or ()]
    for limit in obj["spec"].get("limits") or ():
        kind = limit.get("type")
        if kind == "Container":
            for container in containers:
                yield from _outside(limit, kind, container.get("resources") or {})
        elif kind == "Pod":
            yield from _outside(limit, kind, _sum(pod["spec"].get("containers") or ()))


def _outside(limit: Obj, kind: str, asked: Obj) -> Iterator[str]:
    requests, limits = asked.get("requests") or {}, asked.get("limits") or {}
    for name, least in sorted((limit.get("min") or {}).items()):
        if name not in requests:
            yield f"minimum {name} usage per {kind} is {least}.  No request is specified"
        elif parse(requests[name]).amount < parse(least).amount:
            yield f"minimum {name} usage per {kind} is {least}, but request is {requests[name]}"
    for name, most in sorted((limit.get("max") or {}).items()):
        if name not in limits:
            yield f"maximum {name} usage per {kind} is {most}.  No limit is specified"
        elif parse(limits[name]).amount > parse(most).amount:
            yield f"maximum {name} usage per {kind} is {most}, but limit is {limits[name]}"


def _sum(containers: list[Obj]) -> Obj:
    """What all ask for together; what one of them does not say is not limited."""
    total: Obj = {}
    for member in ("requests", "limits"):
        amounts: dict[str, Quantity] = {}
        for container in containers:
            for name, value in ((container.get("resources") or {}).get(member) or {}).items():
                amounts[name] = amounts.get(name, ZERO) + parse(value)
        total[member] = {name: str(value) for name, value in amounts.items()}
    return total
