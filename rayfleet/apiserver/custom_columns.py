"""Printer columns of custom resources."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver.json_path import JsonPath
from rayfleet.apiserver.kind import Column, Table
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.table import DEFAULT, NAME, age

_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool}
"""a value of another type is not shown"""


def printer_table(definitions: list[Obj] | None) -> Table:
    """Without definitions: name and age. Values of type date show as an age."""
    if not definitions:
        return DEFAULT
    columns = [NAME, *(_column(definition) for definition in definitions)]
    paths = [(_path(definition["jsonPath"]), definition.get("type", "string")) for definition in definitions]

    def cells(obj: Obj, now: float) -> list[Any]:
        return [obj["metadata"]["name"], *(_cell(path.find(obj) if path else [], type_, now) for path, type_ in paths)]

    return Table(tuple(columns), cells)


def _path(text: str) -> JsonPath | None:
    """None for one that is not understood here: its column stays empty."""
    try:
        return JsonPath(text)
    except ValueError:
        return None


def _column(definition: Obj) -> Column:
    if definition["name"] == "Age" and definition.get("type") == "date":
        return Column("Age", "date", description=definition.get("description", ""))
    return Column(
        definition["name"],
        definition.get("type", "string"),
        definition.get("format", ""),
        definition.get("description", ""),
        int(definition.get("priority", 0)),
    )


def _cell(found: list[Any], type_: str, now: float) -> Any:
    if not found:
        return None
    value = found[0]
    if type_ == "date":
        return age(value, now) if isinstance(value, str) else "<unknown>"
    if type_ == "string":
        return value if isinstance(value, str) else _plain(value)
    fits = isinstance(value, _TYPES.get(type_, object)) and (type_ == "boolean" or not isinstance(value, bool))
    return value if fits else None


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
