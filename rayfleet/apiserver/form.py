"""The form of an answer: the objects themselves, their metadata alone, or a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.registry import Served
from rayfleet.apiserver.status_error import not_acceptable
from rayfleet.apiserver.table import rows, table_head

_META = "meta.k8s.io/v1"
_ANSWERED = ("json", "*/*", "application/*", "yaml", "protobuf")
"""asked for any of these, JSON is what this server has"""


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is "", PartialObjectMetadata or Table; `include` is what a table's rows carry: None, Metadata or Object."""

    kind: str = ""
    include: str = "Metadata"

    def one(self, served: Served, record: Record, now: float, instead: Obj | None = None) -> bytes:
        """`instead` stands in the place of members of a table."""
        if self.kind == "Table":
            return self._table(served, [record], now, {"resourceVersion": str(record.version)}, instead)
        if self.kind:
            return msgspec.json.encode(partial(record.decode()))
        return presented(served, record)

    def many(self, served: Served, records: Iterable[Record], now: float, meta: Obj) -> bytes:
        if self.kind == "Table":
            return self._table(served, records, now, meta)
        if self.kind:
            # As a real server: null where there is none.
            items = [partial(record.decode()) for record in records] or None
            return msgspec.json.encode({"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": meta, "items": items})
        head = msgspec.json.encode({"apiVersion": served.api_version, "kind": f"{served.kind.name}List", "metadata": meta})
        return b"".join((head[:-1], b',"items":[', b",".join(_item(served, record) for record in records), b"]}"))

    def _table(self, served: Served, records: Iterable[Record], now: float, meta: Obj, instead: Obj | None = None) -> bytes:
        head = table_head(served, meta) | (instead or {})
        head["rows"] = [self._row(served, row, record) for row, record in rows(served, records, now)]
        return msgspec.json.encode(head)

    def _row(self, served: Served, cells: list[Any], record: Record) -> Obj:
        row: Obj = {"cells": cells}
        if self.include == "Object":
            row["object"] = msgspec.Raw(presented(served, record))
        else:
            row["object"] = partial(record.decode()) if self.include != "None" else None
        return row


def form_of(accept: str, query: dict[str, str]) -> Form:
    """The first media type of the Accept header that this server can make; plain JSON otherwise. Raises 406."""
    for media in accept.split(","):
        _, *parameters = (part.strip() for part in media.split(";"))
        wanted = dict(part.split("=", 1) for part in parameters if "=" in part)
        if not media.strip().startswith(("application/json", "*/*")):
            continue
        if "as" not in wanted:
            return Form()
        if wanted.get("g") == "meta.k8s.io" and wanted.get("v") == "v1":
            kind = wanted["as"].removesuffix("List")
            if kind in ("Table", "PartialObjectMetadata"):
                return Form(kind, query.get("includeObject", "Metadata"))
    if accept and not any(known in accept for known in _ANSWERED):
        raise not_acceptable()
    return Form()


def presented(served: Served, record: Record) -> bytes:
    shown = served.kind.presented(record.data, record.decode, served.api_version)
    return shown if isinstance(shown, bytes) else msgspec.json.encode(shown)


def _item(served: Served, record: Record) -> bytes:
    """In lists of built-in kinds the elements do not say what they are."""
    shown = presented(served, record)
    if served.kind.custom:
        return shown
    head = msgspec.json.encode({"apiVersion": served.api_version, "kind": served.kind.name})[:-1] + b","
    return b"{" + shown.removeprefix(head) if shown.startswith(head) else shown


def partial(obj: Obj) -> Obj:
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": obj["metadata"]}
