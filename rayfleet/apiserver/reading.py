"""Lists, in consistent pages."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from dataclasses import dataclass

import msgspec
from aiohttp import web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.list_options import check_list_options
from rayfleet.apiserver.record import Record
from rayfleet.apiserver.status_error import StatusError, bad_request, expired
from rayfleet.apiserver.writing import require_found

SNAPSHOTS = 64
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a first page left over: the rest of the list as it was then."""

    version: int
    records: tuple[Record, ...]


class Snapshots:
    """The lists that clients are in the middle of reading; the oldest is forgotten first and answers 410."""

    def __init__(self, limit: int = SNAPSHOTS) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()

    def keep(self, token: str, snapshot: Snapshot) -> None:
        self._kept[token] = snapshot
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    def find(self, token: str) -> Snapshot:
        """Raises 410."""
        found = self._kept.get(token)
        if found is None:
            raise expired(TOO_OLD)
        self._kept.move_to_end(token)
        return found


def get(call: Call) -> web.Response:
    record = require_found(call.api, call.served, call.address.namespace or "", call.address.name)
    return call.answer(record)


def list_objects(call: Call, snapshots: Snapshots) -> web.Response:
    limit = call.number("limit")
    if token := call.query.get("continue"):
        key, offset = _opened(token)
        snapshot = snapshots.find(key)
    else:
        _check_version(call)
        key, offset = "", 0
        selector = call.selector
        found = call.api.store.select(call.kind.resource, _space(call))
        records = tuple(found) if selector.everything else tuple(record for record in found if selector.matches(record))
        snapshot = Snapshot(call.api.store.version, records)
    # As a real server: lists of custom kinds say that nothing follows, those of built-in kinds say nothing.
    meta: dict[str, object] = {
        "resourceVersion": str(snapshot.version),
        **({"continue": ""} if call.kind.custom and not call.form.kind else {}),
    }
    page = snapshot.records[offset:]
    if 0 < limit < len(page):
        page = page[:limit]
        if not key:
            key = f"{call.kind.resource}/{snapshot.version}/{call.api.uid()}"
            snapshots.keep(key, snapshot)
        meta["continue"] = _sealed(key, offset + limit)
        if call.selector.everything:
            meta["remainingItemCount"] = len(snapshot.records) - offset - limit
    return call.respond(call.form.many(call.served, page, call.api.clock(), meta))


def _space(call: Call) -> str | None:
    return call.address.namespace if call.kind.namespaced else None


def _check_version(call: Call) -> None:
    """This server always answers with the newest state, so only an exact older version and a future one cannot be served."""
    check_list_options(call.query)
    if (text := call.query.get("resourceVersion", "")) and not text.isdecimal():
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {why}")
    wanted, newest = call.number("resourceVersion"), call.api.store.version
    if wanted > newest:
        raise StatusError(504, "Timeout", f"Too large resource version: {wanted}, current: {newest}", {"retryAfterSeconds": 1})
    if call.query.get("resourceVersionMatch") == "Exact" and wanted != newest:
        raise expired(f"The resourceVersion for the provided list is too old: {wanted}")


def _sealed(key: str, offset: int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([key, offset])).decode().rstrip("=")


def _opened(token: str) -> tuple[str, int]:
    """Raises 400."""
    try:
        key, offset = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=tuple[str, int])
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise bad_request("invalid continue token: continue key is not valid") from None
    return key, max(0, offset)
