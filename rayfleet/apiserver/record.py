"""One stored object, as bytes, with the few fields that selectors and the garbage collector read."""

from __future__ import annotations

from typing import Any

import msgspec

Obj = dict[str, Any]

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Record(msgspec.Struct, frozen=True, gc=False):
    """Kept as JSON bytes: nothing can change it by accident, and the collector has nothing to walk."""

    resource: str
    namespace: str
    name: str
    version: int
    uid: str
    data: bytes
    labels: dict[str, str]
    fields: dict[str, str]
    owners: tuple[str, ...]

    def decode(self) -> Obj:
        """A fresh dict that the caller may change."""
        return msgspec.json.decode(self.data)  # type: ignore[no-any-return]


class Change(msgspec.Struct, frozen=True, gc=False):
    """What happened to one object at one resource version; `record` is its last state when it was deleted."""

    type: str
    record: Record
    previous: Record | None = None

    @property
    def version(self) -> int:
        return self.record.version


def encode(obj: Obj) -> bytes:
    """JSON with apiVersion and kind first, on which `rewritten` relies."""
    return msgspec.json.encode(obj)


def rewritten(data: bytes, stored: str, wanted: str) -> bytes:
    """The object under another apiVersion of the same shape (CRD conversion strategy None)."""
    if stored == wanted:
        return data
    prefix = b'{"apiVersion":"' + stored.encode() + b'"'
    if not data.startswith(prefix):
        raise ValueError("stored objects begin with their apiVersion")
    return b'{"apiVersion":"' + wanted.encode() + b'"' + data[len(prefix) :]
