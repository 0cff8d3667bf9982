"""Delete: preconditions, grace, propagation, finalizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from rayfleet.apiserver import custom, metadata
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.priorities import CLASSES, SYSTEM
from rayfleet.apiserver.record import Obj, Record, encode
from rayfleet.apiserver.status_error import Cause, StatusError, bad_request, conflict, forbidden, invalid, invalid_value, not_supported

DEFAULT_GRACE = 30
UNTIMED = frozenset({"namespaces", "customresourcedefinitions.apiextensions.k8s.io"})
"""kinds whose end their own controllers time"""
IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
RECREATED = "The object might have been deleted and then recreated"
RETURNED = frozenset(
    {
        "pods",
        "services",
        "serviceaccounts",
        "persistentvolumeclaims",
        "persistentvolumes",
        "resourcequotas",
        "storageclasses.storage.k8s.io",
    }
)
"""kinds whose deletion answers with the object, not with a Status"""
FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
ORPHANING = frozenset({"jobs.batch"})
"""kinds whose dependents stay unless the delete says what is to become of them (pkg/registry/batch/job/strategy.go)"""
PRESERVED = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """meta/v1 DeleteOptions. `grace` in seconds; None: what the object says."""

    uid: str = ""
    resource_version: str = ""
    grace: int | None = None
    propagation: str = ""
    """Background, Foreground, Orphan; empty: as an earlier delete said, else as the kind has it"""
    dry_run: bool = False


def options_from(body: Obj, query: dict[str, str]) -> DeleteOptions:
    """The body, and for fields it lacks the query. Raises 400."""
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy")
    if propagation is None:
        propagation = "Orphan" if body.get("orphanDependents") else ""
    if propagation not in ("", "Background", "Foreground", "Orphan"):
        raise _refused(not_supported("propagationPolicy", propagation, ("Foreground", "Background", "Orphan", "nil")))
    if body.get("propagationPolicy") and body.get("orphanDependents") is not None:
        raise _refused(invalid_value("propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set"))
    try:
        seconds = None if grace is None else max(0, int(grace))
    except (TypeError, ValueError):
        raise bad_request(f'strconv.ParseInt: parsing "{grace}": invalid syntax') from None
    dry_run = body.get("dryRun") == ["All"] or query.get("dryRun") == "All"
    return DeleteOptions(preconditions.get("uid") or "", preconditions.get("resourceVersion") or "", seconds, propagation, dry_run)


def _refused(cause: Cause) -> StatusError:
    return invalid("meta.k8s.io", "DeleteOptions", "", [cause])


def delete(api: Api, kind: Kind, record: Record, options: DeleteOptions) -> tuple[Record, bool]:
    """Returns the last state and whether the object is gone now. Raises 409 when a precondition fails."""
    _check_preconditions(kind, record, options)
    if kind.resource == "namespaces" and record.name in IMMORTAL:
        raise forbidden("", "namespaces", record.name, "this namespace may not be deleted")
    if kind.resource == CLASSES and record.name in SYSTEM:
        raise forbidden(kind.group, kind.plural, record.name, "this is a system priority class and cannot be deleted")
    obj = record.decode()
    meta = obj["metadata"]
    if kind.resource == custom.DEFINITIONS and "deletionTimestamp" not in meta:
        custom.begin_end(obj, api.clock())
    grace = _grace(kind, obj, options)
    finalizers = _finalizers(kind, meta.get("finalizers", []), options.propagation)
    if not finalizers and grace == 0 and not held(obj | {"metadata": {}}):
        if kind.resource == "pods":
            # The answer tells when a Pod that went at once was to go; its watchers see what was stored.
            _mark(api, kind, obj, 0)
        last = api.store.draft(record.resource, record.namespace, record.name, obj)
        return (last, True) if options.dry_run else (_at_version(last, api.store.remove(record).version), True)
    changed = _mark(api, kind, obj, grace)
    if finalizers != meta.get("finalizers", []):
        meta["finalizers"] = finalizers
        changed = True
    if not changed or options.dry_run:
        return record, False
    obj["metadata"] = metadata.tidied(meta)
    return api.store.put(record.resource, record.namespace, record.name, obj), False


def _at_version(record: Record, version: int) -> Record:
    obj = record.decode()
    obj["metadata"]["resourceVersion"] = str(version)
    return msgspec.structs.replace(record, version=version, data=encode(obj))


def held(obj: Obj) -> bool:
    """A finalizer keeps the object; a Namespace has its own kind of them in the spec."""
    return bool(obj["metadata"].get("finalizers") or (obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers")))


def warned(kind: Kind, options: DeleteOptions) -> list[str]:
    """Of dependents that stay although nobody said so."""
    return [PRESERVED] if kind.resource in ORPHANING and not options.propagation else []


def _finalizers(kind: Kind, present: list[str], propagation: str) -> list[str]:
    if not propagation and kind.resource in ORPHANING and not set(FINALIZERS.values()) & set(present):
        propagation = "Orphan"
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
    again = "deletionTimestamp" in meta
    if again and grace >= remaining:
        return False
    meta["deletionTimestamp"] = metadata.timestamp(api.clock() + grace)
    if kind.resource not in UNTIMED:
        meta["deletionGracePeriodSeconds"] = grace
    if kind.counts_generations and not again and kind.resource not in UNTIMED:
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
        why = f"the UID in the precondition ({options.uid}) does not match the UID in record ({record.uid}). {RECREATED}"
        raise conflict(kind.group, kind.name, record.name, why)
    if options.resource_version and options.resource_version != str(record.version):
        versions = f"({options.resource_version}) does not match the ResourceVersion in record ({record.version})"
        raise conflict(
            kind.group, kind.name, record.name, f"the ResourceVersion in the precondition {versions}. The object might have been modified"
        )
