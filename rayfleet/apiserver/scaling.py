"""GET, PUT and PATCH of the scale subresource."""

from __future__ import annotations

from aiohttp import web

from rayfleet.apiserver import writing
from rayfleet.apiserver.call import Answer, Call
from rayfleet.apiserver.form import partial
from rayfleet.apiserver.kind import Column
from rayfleet.apiserver.patching import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, patched
from rayfleet.apiserver.record import Obj, Record, encode
from rayfleet.apiserver.status_error import unsupported_media
from rayfleet.apiserver.table import NAME, age, head_of

COLUMNS = (NAME, Column("Desired", "integer"), Column("Available", "integer"), Column("Age", "date"))


def get_scale(call: Call) -> web.Response:
    return _answer(call, _found(call))


def put_scale(call: Call) -> Answer:
    record, wanted = _found(call), call.decoded()
    return _write(call, record, lambda scale: wanted)


def patch_scale(call: Call) -> Answer:
    """Raises 415 for anything but a JSON or a merge patch."""
    if call.request.content_type not in (JSON_PATCH, MERGE_PATCH):
        raise unsupported_media((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    edit = patched(call)
    return _write(call, _found(call), edit)


def _write(call: Call, record: Record, edit: writing.Edit) -> Answer:
    scale, options = call.kind.scale, call.options()
    assert scale is not None

    def change(obj: Obj) -> Obj:
        return scale.changed(obj, edit(scale.of(obj, 0)))

    last = writing.patching(call.api, call.served, record, change, options)
    return lambda: _answer(call, last())


def _answer(call: Call, record: Record) -> web.Response:
    assert call.kind.scale is not None
    scale = call.kind.scale.of(record.decode())
    return call.respond(encode(_table(call, scale) if call.form.kind == "Table" else scale))


def _table(call: Call, scale: Obj) -> Obj:
    meta = scale["metadata"]
    cells = [
        meta["name"],
        scale["spec"].get("replicas", 0),
        scale["status"]["replicas"],
        age(meta.get("creationTimestamp"), call.api.clock()),
    ]
    return head_of(COLUMNS, {"resourceVersion": meta["resourceVersion"]}) | {"rows": [{"cells": cells, "object": partial(scale)}]}


def _found(call: Call) -> Record:
    return writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
