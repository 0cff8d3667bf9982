"""Events: core/v1 and events.k8s.io/v1 are two views of one store."""

from __future__ import annotations

from rayfleet.api.excerpt import LIMIT, encoded
from rayfleet.apiserver.metadata import check_key
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value, required

CORE, NEW = "v1", "events.k8s.io/v1"

_NEW_TO_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_TO_NEW = {core: new for new, core in _NEW_TO_CORE.items()}

_FROZEN = (
    "involvedObject",
    "reason",
    "message",
    "action",
    "type",
    "reportingComponent",
    "reportingInstance",
    "eventTime",
    "related",
)
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
FIELDS = frozenset(
    {f"involvedObject.{name}" for name in _REFERENCE}
    | {f"regarding.{name}" for name in _REFERENCE}
    | {"reason", "reportingComponent", "reportingController", "source", "type"}
)


def converted(obj: Obj, wanted: str) -> Obj:
    """The event with the field names of the wanted apiVersion."""
    names = _CORE_TO_NEW if wanted == NEW else _NEW_TO_CORE
    body = {names.get(key, key): value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    if wanted == NEW:
        body = {key: value for key, value in body.items() if value != "" or key not in ("reportingController", "reportingInstance")}
    return {"apiVersion": wanted, "kind": "Event", "metadata": obj.get("metadata", {}), **body}


def fields(obj: Obj) -> dict[str, str]:
    about = obj.get("involvedObject") or {}
    found = {"reason": obj.get("reason") or "", "type": obj.get("type") or ""}
    found["reportingComponent"] = found["reportingController"] = obj.get("reportingComponent") or ""
    found["source"] = (obj.get("source") or {}).get("component") or found["reportingComponent"]
    for name in _REFERENCE:
        found[f"involvedObject.{name}"] = found[f"regarding.{name}"] = about.get(name) or ""
    return found


def default(obj: Obj) -> None:
    """The fields that an Event always shows."""
    obj.setdefault("source", {})
    obj.setdefault("eventTime", None)
    for name in ("firstTimestamp", "lastTimestamp"):
        obj.setdefault(name, None)
    obj.setdefault("reportingComponent", "")
    obj.setdefault("reportingInstance", "")


def check_new(obj: Obj, old: Obj | None) -> list[Cause]:
    """What the newer group asks for besides."""
    return [required("eventTime")] if old is None and not obj.get("eventTime") else []


def check(obj: Obj, old: Obj | None) -> list[Cause]:
    about = obj.get("involvedObject") or {}
    namespace = obj["metadata"].get("namespace", "")
    if about.get("namespace", "") not in ("", namespace) or (not about.get("namespace") and namespace != "default"):
        return [invalid_value("involvedObject.namespace", about.get("namespace", ""), "does not match event.namespace")]
    if not obj.get("eventTime"):
        return []
    if old is not None:
        return [invalid_value(name, obj.get(name), "field is immutable") for name in _FROZEN if obj.get(name) != old.get(name)]
    # Only the newer way of writing events has these rules.
    names = ("reportingComponent", "reportingInstance", "action", "reason")
    causes = []
    for name in names:
        field = {"reportingComponent": "reportingController"}.get(name, name)
        causes += [] if obj.get(name) else [required(field)]
        causes += check_key(field, obj.get(name) or "") if name == "reportingComponent" else []
    if len(encoded(obj.get("message") or "")) > LIMIT:
        causes.append(invalid_value("message", "", "can have at most 1024 characters"))
    if obj.get("type") not in ("Normal", "Warning"):
        causes.append(invalid_value("type", "", f"has invalid value: {obj.get('type') or ''}"))
    return causes
