"""Server-side apply: creates, or lays what is given over what is there.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

import copy
from typing import Any

from rayfleet.apiserver import field_managers, metadata, ownership, writing
from rayfleet.apiserver.call import Answer, Call
from rayfleet.apiserver.field_managers import APPLY, Manager, Managers
from rayfleet.apiserver.field_shapes import Shape
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request, invalid, required

_SAME = ("resourceVersion", "uid")
"""what an apply may say of the object that it means"""


def apply(call: Call, body: Any) -> Answer:
    """Raises StatusError: 400, 409 (fields of others, another version), 422, 500 (no object of this type)."""
    options = call.options()
    options.applied = True
    if not isinstance(body, dict):
        raise bad_request("an apply patch is an object")
    if not options.manager:
        raise invalid("meta.k8s.io", "PatchOptions", "", [required("fieldManager", "is required for apply patch")])
    served, namespace, name = call.served, call.address.namespace or "", call.address.name
    shape = writing.shape_of(served)
    given = _given(call, body, shape)
    who = Manager(APPLY, options.manager, served.api_version, call.address.subresource)
    now = metadata.timestamp(call.api.clock())
    record = call.api.store.get(call.kind.resource, namespace, name)
    if record is None:
        body = {**body, "metadata": {"name": name, **(body.get("metadata") or {})}}
        _, managers = field_managers.applied({}, given, {}, who, shape, force=True, now=now)
        created = writing.creation(call.api, served, namespace, body, options, managers=field_managers.written(managers))
        return lambda: call.answer(created(), 201, options)

    def edit(obj: Obj) -> Obj:
        live = _part(call, obj)
        managers: Managers = field_managers.read(obj["metadata"].get("managedFields")) or field_managers.first(
            live, who.api_version, shape, now
        )
        merged, managers = field_managers.applied(live, given, managers, who, shape, force=options.force, now=now)
        said = {key: value for key, value in (body.get("metadata") or {}).items() if key in (*_SAME, "name", "namespace")}
        meta = {key: value for key, value in obj["metadata"].items() if key not in ownership.ownable(obj).get("metadata", {})}
        return {
            **{key: value for key, value in obj.items() if key not in live},
            **{key: value for key, value in merged.items() if key != "metadata"},
            "metadata": {**meta, **merged.get("metadata", {}), **said, "managedFields": field_managers.written(managers)},
        }

    patched = writing.patching(call.api, served, record, edit, options, subresource=call.address.subresource)
    return lambda: call.answer(patched(), 200, options)


def _given(call: Call, body: Obj, shape: Shape) -> Obj:
    """What an apply may own of its body. Raises 400, 500."""
    group, _, version = str(body.get("apiVersion") or "").rpartition("/")
    kind = body.get("kind") or ""
    if (body.get("apiVersion"), kind) != (call.served.api_version, call.kind.name):
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    meta = body.get("metadata") or {}
    if isinstance(meta, dict) and meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    faults = list(ownership.faults(body, shape))
    if call.kind.shape:
        faults += [f".{path}: field not declared in schema" for path in call.kind.shape(copy.deepcopy(body))]
    if faults:
        about = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {group}/{version}, Kind={kind}"
        text = faults[0] if len(faults) == 1 else "errors:" + "".join(f"\n  {fault}" for fault in faults)
        raise StatusError(500, "", f"failed to create typed patch object ({about}): {text}")
    return _part(call, body)


def _part(call: Call, obj: Obj) -> Obj:
    """What this resource, or subresource, writes of an object."""
    ownable = ownership.ownable(obj)
    if call.address.subresource == "status":
        return {name: value for name, value in ownable.items() if name == "status"}
    return {name: value for name, value in ownable.items() if name != "status"} if call.kind.has_status else ownable
