"""`rayfleet run --show-config`: every value that would count, where it came from, and what nothing heeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from rayfleet.cli.configuration import DEFAULT, Effective, json_name
from rayfleet.cli.output import columns, dump_json, dump_yaml
from rayfleet.cli.settings import BY_FIELD, DISCOVERED, UNUSED_GATES

ASKED = "asked of the API server at start"


class Row(NamedTuple):
    """`name` as in the file; `note` is "" for a value that is heeded."""

    name: str
    value: Any
    origin: str
    note: str


def shown(found: Effective, form: str) -> str:
    """`form` is table, yaml or json."""
    rows = list(rows_of(found))
    if form == "table":
        return columns(("name", "value", "from", "note"), [(row.name, text(row.value), row.origin, row.note) for row in rows]) + "\n"
    listed = [{"name": row.name, "value": row.value, "from": row.origin} | ({"note": row.note} if row.note else {}) for row in rows]
    return dump_json(listed) + "\n" if form == "json" else dump_yaml(listed)


def rows_of(found: Effective) -> Iterator[Row]:
    import msgspec

    from rayfleet.api.config import FEATURE_GATES

    values = msgspec.to_builtins(found.configuration)
    notes = {json_name(setting.field): setting.unused for setting in BY_FIELD.values()}
    for name, value in values.items():
        if name in ("apiVersion", "kind", "featureGates"):
            continue
        origin = found.origins.get(name, DEFAULT)
        if name in DISCOVERED.values() and origin == DEFAULT:
            yield Row(name, None, ASKED, "")
        else:
            yield Row(name, value, origin, notes.get(name, ""))
    for gate in sorted(FEATURE_GATES):
        name = f"featureGates.{gate}"
        yield Row(name, found.configuration.gate(gate), found.origins.get(name, DEFAULT), UNUSED_GATES.get(gate, ""))


def text(value: Any) -> str:
    """As it would stand in the file, on one line."""
    if value is None or (isinstance(value, str) and value):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
