"""x-kubernetes-list-type: sets and maps hold nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, duplicate


class Lists:
    """The lists of a schema that are sets or maps, and those below it."""

    __slots__ = ("_children", "_extra", "_items", "_keys", "_kind", "any")

    def __init__(self, schema: Obj) -> None:
        self._kind = schema.get("x-kubernetes-list-type") or "atomic"
        self._keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        children = {name: Lists(child) for name, child in (schema.get("properties") or {}).items()}
        self._children = {name: child for name, child in children.items() if child.any}
        items, extra = schema.get("items"), schema.get("additionalProperties")
        self._items = Lists(items) if isinstance(items, dict) else None
        self._extra = Lists(extra) if isinstance(extra, dict) else None
        below = [*self._children.values(), *(child for child in (self._items, self._extra) if child)]
        self.any: bool = self._kind in ("map", "set") or any(child.any for child in below)

    def check(self, value: Any, path: str = "") -> Iterator[Cause]:
        if not self.any:
            return
        if isinstance(value, list):
            yield from self._check_items(value, path)
        elif isinstance(value, dict):
            for name, member in value.items():
                child = self._children.get(name) or self._extra
                if child is not None:
                    yield from child.check(member, f"{path}.{name}" if path else name)

    def _check_items(self, items: list[Any], path: str) -> Iterator[Cause]:
        seen: dict[bytes, int] = {}
        for index, item in enumerate(items):
            if self._kind in ("map", "set"):
                identity = {key: item[key] for key in self._keys if key in item} if self._kind == "map" and isinstance(item, dict) else item
                text = msgspec.json.encode(identity)
                if seen.get(text) == 1:
                    # Each that stands there more than once is told of once.
                    yield duplicate(f"{path}[{index}]", identity)
                seen[text] = seen.get(text, 0) + 1
            if self._items is not None:
                yield from self._items.check(item, f"{path}[{index}]")
