"""What a rule sees of a value: numbers, times and durations as the schema says, not as JSON writes them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from rayfleet.apiserver.cel.times import duration, timestamp
from rayfleet.apiserver.cel.values import Failure

_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "byte": lambda text: base64.b64decode(text, validate=True),
    "duration": duration,
    "date": lambda text: timestamp(f"{text}T00:00:00Z"),
    "date-time": timestamp,
}


class Seen:
    """Of one schema. `same`: JSON's values are what rules see."""

    __slots__ = ("_extra", "_items", "_properties", "_read", "same")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        kind = schema.get("type")
        self._read: Callable[[Any], Any] | None = None
        if kind == "number":
            self._read = float
        elif kind == "string":
            self._read = _FORMATS.get(schema.get("format", ""))
        found = {name: Seen(child) for name, child in (schema.get("properties") or {}).items()}
        self._properties = {name: child for name, child in found.items() if not child.same}
        self._items, self._extra = _part(schema.get("items")), _part(schema.get("additionalProperties"))
        self.same: bool = not (self._read or self._properties or self._items or self._extra)

    def of(self, value: Any) -> Any:
        if self.same or value is None:
            return value
        if self._read is not None:
            return _read(self._read, value)
        if isinstance(value, list) and self._items:
            return [self._items.of(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: child.of(member) if (child := self._properties.get(name, self._extra)) else member for name, member in value.items()}


def _part(schema: Any) -> Seen | None:
    found = Seen(schema) if isinstance(schema, dict) else None
    return None if found is None or found.same else found


def _read(reader: Callable[[Any], Any], value: Any) -> Any:
    """What is not of its format is judged by the schema, not here."""
    try:
        return value if isinstance(value, bool) else reader(value)
    except (Failure, ValueError, TypeError, binascii.Error):
        return value
