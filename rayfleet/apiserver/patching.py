"""PATCH: which kind of patch, and server-side apply in its simple form."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from rayfleet.apiserver import metadata, writing
from rayfleet.apiserver.call import Call, decoded
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.patch import edited, merged
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request, invalid, required, unsupported_media
from rayfleet.apiserver.strategic import strategically_merged

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC_PATCH, APPLY_PATCH = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def apply_patch(call: Call) -> web.Response:
    """Raises 415 for a kind of patch that the kind of object does not take."""
    media = call.request.content_type
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] if call.kind.custom else [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
    if media not in accepted and not call.kind.custom:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", bare=True)
    if media not in accepted:
        raise unsupported_media(accepted)
    try:
        body = decoded(call.body, media)
    except StatusError as failure:
        raise bad_request("invalid JSON patch") from failure
    if media == APPLY_PATCH:
        return _apply(call, body)
    options = call.options()
    record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)

    def edit(obj: Obj) -> Any:
        if media == JSON_PATCH:
            return edited(obj, body)
        return merged(obj, body) if media == MERGE_PATCH else strategically_merged(obj, body)

    if media != JSON_PATCH and not isinstance(body, dict):
        found = "array" if isinstance(body, list) else type(body).__name__
        raise bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    record = writing.patch(call.api, call.served, record, edit, options, subresource=call.address.subresource)
    return call.answer(record, 200, options)


def _apply(call: Call, body: Any) -> web.Response:
    """Creates, or merges what is given; nobody's fields conflict, and what is no longer given stays."""
    options = call.options()
    if not isinstance(body, dict):
        raise bad_request("an apply patch is an object")
    if not options.manager:
        raise invalid("meta.k8s.io", "PatchOptions", "", [required("fieldManager", "is required for apply patch")])
    record = call.api.store.get(call.kind.resource, call.address.namespace or "", call.address.name)
    if record is None:
        body.setdefault("metadata", {}).setdefault("name", call.address.name)
        record = writing.create(call.api, call.served, call.address.namespace or "", body, options, applied=_manager(call, options))
        return call.answer(record, 201, options)
    merge = merged if call.kind.custom else strategically_merged

    def edit(obj: Obj) -> Any:
        wanted = merge(obj, body)
        managers = [entry for entry in obj["metadata"].get("managedFields", []) if entry["manager"] != options.manager]
        if wanted == obj and len(managers) < len(obj["metadata"].get("managedFields", [])):
            return obj
        wanted["metadata"] = {**wanted["metadata"], "managedFields": [*managers, _manager(call, options)]}
        return wanted

    record = writing.patch(call.api, call.served, record, edit, options, subresource=call.address.subresource)
    return call.answer(record, 200, options)


def _manager(call: Call, options: WriteOptions) -> Obj:
    return {
        "manager": options.manager,
        "operation": "Apply",
        "apiVersion": call.served.api_version,
        "time": metadata.timestamp(call.api.clock()),
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }
