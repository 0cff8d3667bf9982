"""What each kind of action is on the wire, and in words once it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rayfleet.planning.actions import Action, AddFinalizer, Create, Delete, Fence, Patch, RemoveFinalizer, Resize, sent
from rayfleet.runtime.gate import Write

PAST = {
    Create: "created",
    Patch: "updated",
    Delete: "deleted",
    Fence: "annotated",
    AddFinalizer: "put a finalizer on",
    RemoveFinalizer: "took a finalizer off",
    Resize: "resized",
}


def write_of(action: Action, draw: Callable[[int], bytes]) -> Write:
    if isinstance(action, Create):
        return Write("create", action.resource, action.namespace, action.name, sent(action, draw))
    if isinstance(action, Delete):
        return Write("delete", action.resource, action.namespace, action.name, uid=action.uid)
    if isinstance(action, Fence):
        meta: dict[str, Any] = {"resourceVersion": action.resource_version, "annotations": dict(action.annotations)}
        return Write("patch", action.resource, action.namespace, action.name, {"metadata": meta})
    if isinstance(action, AddFinalizer | RemoveFinalizer):
        meta = {"resourceVersion": action.resource_version, "finalizers": list(action.finalizers) or None}
        return Write("patch", action.resource, action.namespace, action.name, {"metadata": meta})
    if isinstance(action, Resize):
        tested = {"op": "replace", "path": "/metadata/resourceVersion", "value": action.resource_version}
        return Write("resize", action.resource, action.namespace, action.name, (tested, *action.operations))
    patch = dict(action.patch)
    patch["metadata"] = {**patch.get("metadata", {}), "uid": action.uid}
    return Write("patch", action.resource, action.namespace, action.name, patch)


def moves_owner(action: Action) -> bool:
    """Has the owner another version after it?"""
    return isinstance(action, AddFinalizer | RemoveFinalizer | Resize) or (isinstance(action, Fence) and bool(action.annotations))
