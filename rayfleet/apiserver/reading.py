"""Lists, in consistent pages."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
from aiohttp import web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.list_options import check_list_options, wrong_version
from rayfleet.apiserver.record import Record
from rayfleet.apiserver.status_error import StatusError, bad_request, expired
from rayfleet.apiserver.writing import require_found

SNAPSHOTS = 64
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
    "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token "
    "results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and "
    "now may show up in the list."
)
NOW = ""
"""in the place of a snapshot's name: the rest of the list as it is, not as it was"""


class Token(msgspec.Struct, frozen=True, array_like=True):
    """Where a list goes on: in the snapshot `key` at `offset`, which was after `start`."""

    key: str
    offset: Annotated[int, msgspec.Meta(ge=0)]
    start: str


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

    def find(self, token: str) -> Snapshot | None:
        found = self._kept.get(token)
        if found is not None:
            self._kept.move_to_end(token)
        return found


def get(call: Call) -> web.Response:
    record = require_found(call.api, call.served, call.address.namespace or "", call.address.name)
    return call.answer(record)


def list_objects(call: Call, snapshots: Snapshots) -> web.Response:
    limit = call.number("limit")
    check_list_options(call.query)
    call.number("timeoutSeconds")
    wanted = call.query.get("resourceVersion", "")
    if call.query.get("continue") and wanted not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    token = _opened(call.query["continue"]) if call.query.get("continue") else Token(NOW, 0, "")
    if wanted == "0":
        # Whatever there is, at once and whole, as from a cache.
        limit = 0
    if token.key == NOW:
        snapshot = _past(call) if not token.start and _is_exact(call, limit) else _present(call, token.start)
    elif (kept := snapshots.find(token.key)) is not None:
        snapshot = kept
    else:
        raise expired(TOO_OLD, _sealed(Token(NOW, 0, token.start)))
    key, offset = token.key, token.offset
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
        meta["continue"] = _sealed(Token(key, offset + limit, _place(call, page[-1])))
        if call.selector.everything:
            meta["remainingItemCount"] = len(snapshot.records) - offset - limit
    return call.respond(call.form.many(call.served, page, call.api.clock(), meta))


def _space(call: Call) -> str | None:
    return call.address.namespace if call.kind.namespaced else None


def _is_exact(call: Call, limit: int) -> bool:
    """Whether the list is wanted as it was at a version; a page says so by its limit, where nothing else is said."""
    match = call.query.get("resourceVersionMatch") or ("Exact" if limit else "")
    return match == "Exact" and call.query.get("resourceVersion", "") not in ("", "0")


def _past(call: Call) -> Snapshot:
    """Raises 410 when too much has changed since."""
    version = _version(call)
    records = call.api.store.past(call.kind.resource, _space(call), version)
    if records is None:
        raise expired("The resourceVersion for the provided list is too old.")
    selector = call.selector
    return Snapshot(version, tuple(record for record in records if selector.matches(record)))


def _present(call: Call, start: str) -> Snapshot:
    if not start:
        _version(call)
    return Snapshot(call.api.store.version, tuple(_selected(call, start)))


def _version(call: Call) -> int:
    """What `resourceVersion` says; 0 for nothing. Raises 400, 504 (a version that is still to come)."""
    if wrong := wrong_version(call.query.get("resourceVersion", "")):
        raise bad_request(f"invalid resource version: {wrong}")
    wanted, newest = call.number("resourceVersion"), call.api.store.version
    if wanted > newest:
        why = "Too large resource version"
        details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": why}], "retryAfterSeconds": 1}
        raise StatusError(504, "Timeout", f"Timeout: {why}: {wanted}, current: {newest}", details)
    return wanted


def _selected(call: Call, start: str) -> Iterator[Record]:
    """What is there now; `start`: only what comes after that place."""
    selector, place = call.selector, start.split("/", 1)
    for record in call.api.store.select(call.kind.resource, _space(call)):
        if selector.matches(record) and (not start or _place(call, record).split("/", 1) > place):
            yield record


def _place(call: Call, record: Record) -> str:
    """Of an object in its list: NAMESPACE/NAME, without the namespace where all are in one."""
    return f"{'' if call.address.namespace else record.namespace}/{record.name}"


def _sealed(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _opened(text: str) -> Token:
    """Raises 400."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise bad_request("invalid continue token: continue key is not valid") from None
