"""PATCH: which kind of patch."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver import writing
from rayfleet.apiserver.applying import apply
from rayfleet.apiserver.call import Answer, Call
from rayfleet.apiserver.patch import edited, merged
from rayfleet.apiserver.status_error import StatusError, bad_request, invalid, not_allowed, unsupported_media
from rayfleet.apiserver.strategic import strategically_merged
from rayfleet.apiserver.writing import Edit

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC_PATCH, APPLY_PATCH = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def apply_patch(call: Call) -> Answer:
    """Raises 415 for a kind of patch that the kind of object does not take."""
    media = call.request.content_type
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] if call.kind.custom else [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
    if media not in accepted and not call.kind.custom:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", bare=True)
    if media not in accepted:
        raise unsupported_media(accepted)
    body = _content(call)
    if media == APPLY_PATCH:
        return apply(call, body)
    options = call.options()
    if options.force:
        raise invalid("meta.k8s.io", "PatchOptions", "", [not_allowed("force", "may not be specified for non-apply patch")])
    record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
    last = writing.patching(call.api, call.served, record, _edit(media, body), options, subresource=call.address.subresource)
    return lambda: call.answer(last(), 200, options)


def patched(call: Call) -> Edit:
    """What the patch in a body makes of an object. Raises 400, 413."""
    return _edit(call.request.content_type, _content(call))


def _content(call: Call) -> Any:
    try:
        return call.content()
    except StatusError as failure:
        if failure.code == 413:
            raise
        excessive = "excessive aliasing" in failure.message
        text = "error encoding patch: yaml: document contains excessive aliasing" if excessive else "invalid JSON patch"
        raise bad_request(text) from failure


def _edit(media: str, body: Any) -> Edit:
    if media == JSON_PATCH:
        return lambda obj: edited(obj, body)
    if not isinstance(body, dict):
        found = "array" if isinstance(body, list) else type(body).__name__
        raise bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    return (lambda obj: merged(obj, body)) if media == MERGE_PATCH else (lambda obj: strategically_merged(obj, body))
