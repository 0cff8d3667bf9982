"""Structural schemas as trees that are quick to walk: pruning and defaulting."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.apiserver import metadata
from rayfleet.apiserver.record import Obj

EMBEDDED_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class Node:
    """One schema of a structural schema (apiextensions.k8s.io/v1), reduced to what pruning and defaulting ask."""

    __slots__ = ("default", "embedded", "extra", "has_defaults", "has_embedded", "items", "nullable", "open", "properties")

    def __init__(self, schema: Obj) -> None:
        self.properties = {name: Node(child) for name, child in (schema.get("properties") or {}).items()}
        items, extra = schema.get("items"), schema.get("additionalProperties")
        self.items = Node(items) if isinstance(items, dict) else None
        self.extra = Node(extra) if isinstance(extra, dict) else None
        self.open = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or extra is True
        self.embedded = bool(schema.get("x-kubernetes-embedded-resource"))
        self.nullable = bool(schema.get("nullable"))
        self.default = msgspec.json.encode(schema["default"]) if schema.get("default") is not None else None
        below = [*self.properties.values(), *(child for child in (self.items, self.extra) if child)]
        self.has_defaults: bool = any(child.default is not None or child.has_defaults for child in below)
        self.has_embedded: bool = any(child.embedded or child.has_embedded for child in below)

    def prune(self, value: Any, path: str, dropped: list[str]) -> None:
        """Removes unknown members in place and appends their paths."""
        if isinstance(value, dict):
            self._prune_members(value, path, dropped)
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                self.items.prune(item, f"{path}[{index}]", dropped)

    def _prune_members(self, value: Obj, path: str, dropped: list[str]) -> None:
        if self.open and not self.properties and not self.embedded:
            return
        prefix = f"{path}." if path else ""
        for key in list(value):
            child = self.properties.get(key, self.extra)
            if self.embedded and key in EMBEDDED_FIELDS:
                if key == "metadata":
                    _prune_metadata(value[key], prefix + key, dropped)
                continue
            if child is not None:
                child.prune(value[key], prefix + key, dropped)
            elif not self.open:
                del value[key]
                dropped.append(prefix + key)

    def fill(self, value: Any) -> None:
        """Sets defaults in place, and drops nulls that the schema does not allow."""
        if isinstance(value, dict):
            self._fill_members(value)
        elif isinstance(value, list) and self.items is not None:
            for item in value:
                self.items.fill(item)

    def _fill_members(self, value: Obj) -> None:
        for key in [key for key, member in value.items() if member is None]:
            child = self.properties.get(key, self.extra)
            if child is not None and not child.nullable:
                del value[key]
        for key, child in self.properties.items():
            if key not in value:
                if child.default is None:
                    continue
                value[key] = msgspec.json.decode(child.default)
            child.fill(value[key])
        if self.extra is not None:
            for key, member in value.items():
                if key not in self.properties:
                    self.extra.fill(member)


def _prune_metadata(value: Any, path: str, dropped: list[str]) -> None:
    """An embedded object's metadata is ObjectMeta, whatever the schema says of it."""
    for name in [name for name in value if name not in metadata.KNOWN] if isinstance(value, dict) else ():
        del value[name]
        dropped.append(f"{path}.{name}")
