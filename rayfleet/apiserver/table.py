"""Tables: what `kubectl get` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from rayfleet.apiserver.kind import Column, Table
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.registry import Served

NAME = Column("Name", format="name")
AGE = Column("Age")


def _default_cells(obj: Obj, now: float) -> list[Any]:
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"), now)]


DEFAULT = Table((NAME, AGE), _default_cells)


def table_of(served: Served) -> Table:
    tables = served.kind.tables
    return tables.get(served.version) or tables.get("") or DEFAULT


def table_head(served: Served, meta: Obj) -> Obj:
    return head_of(table_of(served).columns, meta)


def head_of(columns: Sequence[Column], meta: Obj) -> Obj:
    told = [
        {"name": column.name, "type": column.type, "format": column.format, "description": column.description, "priority": column.priority}
        for column in columns
    ]
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": told, "rows": []}


def rows(served: Served, records: Iterable[Record], now: float) -> Iterator[tuple[list[Any], Record]]:
    cells = table_of(served).cells
    for record in records:
        yield cells(record.decode(), now), record


def age(text: str | None, now: float) -> str:
    if not text:
        return "<unknown>"
    return human(now - datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def human(seconds: float) -> str:
    """A duration as kubectl shows it (k8s.io/apimachinery HumanDuration): two units at most."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(0, whole)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
