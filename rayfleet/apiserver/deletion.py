"""Delete: preconditions, grace, propagation, finalizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rayfleet.apiserver import metadata
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.status_error import bad_request, conflict

DEFAULT_GRACE = 30
FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """meta/v1 DeleteOptions. `grace` in seconds; None: what the object says."""

    uid: str = ""
    resource_version: str = ""
    grace: int | None = None
    propagation: str = ""
    """Background, Foreground, Orphan; empty: as an earlier delete said, else Background"""
    dry_run: bool = False


def options_from(body: Obj, query: dict[str, str]) -> DeleteOptions:
    """The body, and for fields it lacks the query. Raises 400."""
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy")
    if propagation is None:
        propagation = "Orphan" if body.get("orphanDependents") else ""
    if propagation not in ("", "Background", "Foreground", "Orphan"):
        raise bad_request(f"invalid propagationPolicy {propagation!r}")
    try:
        seconds = None if grace is None else max(0, int(grace))
    except (TypeError, ValueError):
        raise bad_request("gracePeriodSeconds is a number of seconds") from None
    dry_run = body.get("dryRun") == ["All"] or query.get("dryRun") == "All"
    return DeleteOptions(preconditions.get("uid") or "", preconditions.get("resourceVersion") or "", seconds, propagation, dry_run)


def delete(api: Api, kind: Kind, record: Record, options: DeleteOptions) -> tuple[Record, bool]:
    """Returns the last state and whether the object is gone now. Raises 409 when a precondition fails."""
    _check_preconditions(kind, record, options)
    obj = record.decode()
    meta = obj["metadata"]
    grace = _grace(kind, obj, options)
    finalizers = _finalizers(meta.get("finalizers", []), options.propagation)
    if not finalizers and grace == 0 and not held(obj | {"metadata": {}}):
        return (record, True) if options.dry_run else (api.store.remove(record), True)
    changed = _mark(api, kind, obj, grace)
    if finalizers != meta.get("finalizers", []):
        meta["finalizers"] = finalizers
        changed = True
    if not changed or options.dry_run:
        return record, False
    obj["metadata"] = metadata.tidied(meta)
    return api.store.put(record.resource, record.namespace, record.name, obj), False


def held(obj: Obj) -> bool:
    """A finalizer keeps the object; a Namespace has its own kind of them in the spec."""
    return bool(obj["metadata"].get("finalizers") or (obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers")))


def _finalizers(present: list[str], propagation: str) -> list[str]:
    if not propagation:
        return present
    wanted = FINALIZERS.get(propagation)
    kept = [name for name in present if name not in FINALIZERS.values() or name == wanted]
    return kept if wanted is None or wanted in kept else [*kept, wanted]


def gone_status(kind: Kind, record: Record) -> Obj:
    details: dict[str, Any] = {"name": record.name, "kind": kind.plural, "uid": record.uid}
    if kind.group:
        details["group"] = kind.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _mark(api: Api, kind: Kind, obj: Obj, grace: int) -> bool:
    """Sets the time of death; a second delete may only bring it forward. True when something changed."""
    meta = obj["metadata"]
    remaining = meta.get("deletionGracePeriodSeconds", 0)
    if "deletionTimestamp" in meta and grace >= remaining:
        return False
    meta["deletionTimestamp"] = metadata.timestamp(api.clock() + grace)
    meta["deletionGracePeriodSeconds"] = grace
    if kind.counts_generations and kind.custom:
        meta["generation"] = meta.get("generation", 0) + 1
    if kind.resource == "namespaces":
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return True


def _grace(kind: Kind, obj: Obj, options: DeleteOptions) -> int:
    """Only Pods that a kubelet may be running are given time."""
    if kind.resource != "pods":
        return 0
    if not obj["spec"].get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return options.grace
    return int(obj["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE))


def _check_preconditions(kind: Kind, record: Record, options: DeleteOptions) -> None:
    if options.uid and options.uid != record.uid:
        why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {record.uid}"
        raise conflict(kind.group, kind.plural, record.name, why)
    if options.resource_version and options.resource_version != str(record.version):
        versions = f"ResourceVersion in precondition: {options.resource_version}, ResourceVersion in object meta: {record.version}"
        why = f"Precondition failed: {versions}"
        raise conflict(kind.group, kind.plural, record.name, why)
