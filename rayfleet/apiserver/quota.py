"""Resource quotas: numbers of objects, and what Pods ask for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from rayfleet.api.quantity import ZERO, Quantity, parse
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.status_error import Cause, forbidden, invalid_value

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

Usage = dict[str, Quantity]

_ONE = Quantity(Fraction(1))

_PLAIN = frozenset({"pods", "services", "configmaps", "secrets", "persistentvolumeclaims", "resourcequotas"})
"""that may be named without count/"""
_PER_POD = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
SCOPES = frozenset(
    {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"}
)


def admission(resource: str) -> Callable[[Api, Obj, Obj | None], None]:
    return lambda api, obj, old: admit(api, resource, obj, old)


def admit(api: Api, resource: str, obj: Obj, old: Obj | None) -> None:
    """Raises 403 when a new object would exceed a quota of its namespace."""
    namespace = obj["metadata"].get("namespace", "")
    if old is not None or not api.store.count("resourcequotas", namespace):
        return
    kind = api.registry.kind(resource)
    assert kind is not None
    for record in api.store.select("resourcequotas", namespace):
        hard = {name: parse(value) for name, value in (record.decode().get("spec", {}).get("hard") or {}).items()}
        if resource == "pods" and (missing := _missing(obj, hard)):
            raise forbidden("", "pods", obj["metadata"]["name"], f"failed quota: {record.name}: must specify {'; '.join(missing)}")
        asked = {name: value for name, value in _usage(resource, obj).items() if name in hard}
        used = usage(api, namespace, hard)
        over = sorted(name for name, value in asked.items() if value.amount and (used.get(name, ZERO) + value).amount > hard[name].amount)
        if over:
            told = [",".join(f"{name}={each.get(name, ZERO)}" for name in over) for each in (asked, used, hard)]
            why = f"exceeded quota: {record.name}, requested: {told[0]}, used: {told[1]}, limited: {told[2]}"
            raise forbidden(kind.group, kind.plural, obj["metadata"]["name"], why)


def show(api: Api, quota: Obj) -> Obj:
    """The status of a quota."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    used = usage(api, quota["metadata"]["namespace"], {name: parse(value) for name, value in hard.items()})
    return {"hard": hard, "used": {name: str(used.get(name, ZERO)) for name in hard}}


def refresh(api: Api, record: Record) -> None:
    """Shows what is in use now, if that is something else."""
    obj = record.decode()
    if (status := show(api, obj)) != obj.get("status"):
        api.store.put(record.resource, record.namespace, record.name, {**obj, "status": status})


def begin(obj: Obj) -> None:
    obj["status"] = {}


def check(obj: Obj, old: Obj | None) -> list[Cause]:
    spec, causes = obj.get("spec") or {}, []
    for name, text in (spec.get("hard") or {}).items():
        value = parse(text)
        if value.amount < 0:
            causes.append(invalid_value(f"spec.hard[{name}]", text, "must be greater than or equal to 0"))
        elif _is_count(name) and value.amount.denominator != 1:
            causes.append(invalid_value(f"spec.hard[{name}]", str(value), "must be an integer"))
    if unknown := [scope for scope in spec.get("scopes") or () if scope not in SCOPES]:
        causes.append(invalid_value("spec.scopes", unknown, "unsupported scope"))
    return causes


def usage(api: Api, namespace: str, names: Usage) -> Usage:
    """What the namespace uses of what is named."""
    total: Usage = {}
    for resource in api.store.resources():
        plain = resource.partition(".")[0]
        counted = f"count/{resource}" in names or (plain == resource and plain in names)
        if not counted and not (resource == "pods" and set(names) & set(_PER_POD)):
            continue
        for record in api.store.select(resource, namespace):
            for name, value in _usage(resource, record.decode()).items():
                if name in names:
                    total[name] = total.get(name, ZERO) + value
    return total


def _usage(resource: str, obj: Obj) -> Usage:
    if resource == "pods":
        # What has ended uses nothing but its place among the objects.
        ended = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return {"count/pods": _ONE} if ended else {"count/pods": _ONE, "pods": _ONE, **_of_pod(obj)}
    return {f"count/{resource}": _ONE} | ({resource: _ONE} if resource in _PLAIN else {})


def _of_pod(pod: Obj) -> Usage:
    found: Usage = {}
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        for part in ("requests", "limits"):
            for name, text in (resources.get(part) or {}).items():
                for key in (f"{part}.{name}", *((name,) if part == "requests" else ())):
                    found[key] = found.get(key, ZERO) + parse(text)
    return found


def _missing(pod: Obj, hard: Usage) -> list[str]:
    """Where cpu or memory is limited, every container has to say how much it takes."""
    found = []
    for name in sorted(set(hard) & set(_PER_POD)):
        part, _, resource = name.rpartition(".")
        without = [
            container["name"]
            for container in pod["spec"].get("containers") or ()
            if resource not in ((container.get("resources") or {}).get(part or "requests") or {})
        ]
        if without:
            found.append(f"{name} for: {','.join(without)}")
    return found


def _is_count(name: str) -> bool:
    return name in _PLAIN or name.startswith("count/")
