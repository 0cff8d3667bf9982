"""Garbage: objects whose owners are gone, and owners that wait for their dependents (Kubernetes' garbage collector)."""

from __future__ import annotations

from rayfleet.apiserver import deletion, metadata
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.record import Obj, Record

FOREGROUND, ORPHAN = deletion.FINALIZERS["Foreground"], deletion.FINALIZERS["Orphan"]


def collect(api: Api, record: Record) -> None:
    """Deletes the object when no owner of it lives on; otherwise forgets the dead ones among them."""
    obj = record.decode()
    references = obj["metadata"].get("ownerReferences", [])
    solid = [reference for reference in references if _state(api, record, reference) == "solid"]
    if solid:
        if len(solid) < len(references):
            obj["metadata"]["ownerReferences"] = solid
            save(api, record, obj)
        return
    waiting = any(_state(api, record, reference) == "waiting" for reference in references)
    if not references or terminating(record):
        return
    kind = api.registry.kind(record.resource)
    if kind is None:
        return
    chosen = {FOREGROUND, ORPHAN} & set(obj["metadata"].get("finalizers", []))
    propagation = "Foreground" if waiting and api.store.dependents(record.uid) else "" if chosen else "Background"
    deletion.delete(api, kind, record, deletion.DeleteOptions(uid=record.uid, propagation=propagation))


def release(api: Api, record: Record) -> list[Record]:
    """Takes the collector's finalizers from a dying owner as soon as it may. Returns the dependents that must go first."""
    obj = record.decode()
    finalizers = obj["metadata"].get("finalizers", [])
    if "deletionTimestamp" not in obj["metadata"] or not {FOREGROUND, ORPHAN} & set(finalizers):
        return []
    dependents = api.store.dependents(record.uid)
    if ORPHAN in finalizers:
        for dependent in dependents:
            _disown(api, dependent, record.uid)
    elif any(_blocks(dependent, record.uid) for dependent in dependents):
        return dependents
    obj["metadata"]["finalizers"] = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)]
    save(api, record, obj)
    return dependents


def save(api: Api, record: Record, obj: Obj) -> None:
    """Stores the object, or removes it when nothing holds it any more."""
    obj["metadata"] = metadata.tidied(obj["metadata"])
    meta = obj["metadata"]
    if "deletionTimestamp" in meta and not meta.get("deletionGracePeriodSeconds") and not deletion.held(obj):
        api.store.remove(record, obj)
    else:
        api.store.put(record.resource, record.namespace, record.name, obj)


def terminating(record: Record) -> bool:
    # Looking for the member's text is far cheaper than decoding; the exact answer is only asked for when it may be yes.
    return b'"deletionTimestamp":' in record.data and "deletionTimestamp" in record.decode()["metadata"]


def owns(api: Api, uid: str, record: Record) -> bool:
    """Whether the owner exists, where it can own this object: in its namespace, or in none."""
    owner = api.store.by_uid(uid)
    return owner is not None and owner.namespace in ("", record.namespace)


def _state(api: Api, record: Record, reference: Obj) -> str:
    owner = api.store.by_uid(reference["uid"])
    if owner is None or not owns(api, reference["uid"], record):
        return "absent"
    if terminating(owner) and FOREGROUND in owner.decode()["metadata"].get("finalizers", []):
        return "waiting"
    return "solid"


def _blocks(dependent: Record, uid: str) -> bool:
    references = dependent.decode()["metadata"].get("ownerReferences", [])
    return any(reference["uid"] == uid and reference.get("blockOwnerDeletion") for reference in references)


def _disown(api: Api, dependent: Record, uid: str) -> None:
    obj = dependent.decode()
    obj["metadata"]["ownerReferences"] = [reference for reference in obj["metadata"]["ownerReferences"] if reference["uid"] != uid]
    save(api, dependent, obj)
