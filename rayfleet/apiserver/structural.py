"""What makes an OpenAPI schema structural, so that objects can be pruned, given defaults and judged by it.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
and the sentences of apiextensions-apiserver pkg/apis/apiextensions/validation and pkg/apiserver/schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.regular_expression import fault
from rayfleet.apiserver.schema import instance_causes
from rayfleet.apiserver.schema_rules import check_rules
from rayfleet.apiserver.status_error import Cause, invalid_value, not_allowed, not_supported, required
from rayfleet.apiserver.structure import Node

TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
MAP_TYPES = ("atomic", "granular")
_UNSUPPORTED = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")
_JUNCTIONS = ("allOf", "anyOf", "oneOf")
_STRUCTURE = ("type", "default", "title", "description", "nullable", "x-kubernetes-preserve-unknown-fields")
_STRUCTURE += ("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string")
_OPEN, _EMBEDDED, _EITHER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"
_LIST_TYPE, _KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def check_schema(schema: Obj, path: str) -> list[Cause]:
    """Of one version. `path` leads to it."""
    causes = list(_check_all(schema, path))
    causes += list(_check_structure(schema, path, "at the root"))
    causes += list(_check_metadata(schema, path))
    return causes or [*_check_defaults(schema, path), *check_rules(schema, path)]


def _children(schema: Obj, path: str) -> Iterator[tuple[Obj, str, str]]:
    """(schema, path, what it is part of) of what stands below, but for junctions."""
    for name, child in (schema.get("properties") or {}).items():
        yield child, f"{path}.properties[{name}]", "for specified object fields"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties", "for specified object fields"
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}.items", "for specified array items"


def _nested(schema: Obj, path: str) -> Iterator[tuple[Obj, str]]:
    for name in _JUNCTIONS:
        for index, child in enumerate(schema.get(name) or ()):
            yield child, f"{path}.{name}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], f"{path}.not"


def _check_all(schema: Obj, path: str) -> Iterator[Cause]:
    yield from (not_allowed(f"{path}.{name}", f"{name} is not supported") for name in _UNSUPPORTED if schema.get(name))
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield not_allowed(f"{path}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, False):
        yield not_allowed(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if schema.get("type") and schema["type"] not in TYPES:
        yield not_supported(f"{path}.type", schema["type"], TYPES)
    if (pattern := schema.get("pattern")) and (wrong := fault(pattern)):
        why = f"must be a valid regular expression, but isn't: error parsing regexp: {wrong}"
        yield invalid_value(f"{path}.pattern", pattern, why)
    if schema.get(_LIST_TYPE) or schema.get(_KEYS):
        yield from _check_list(schema, path)
    if schema.get(_MAP_TYPE) and schema[_MAP_TYPE] not in MAP_TYPES:
        yield not_supported(f"{path}.{_MAP_TYPE}", schema[_MAP_TYPE], MAP_TYPES)
    for child, below, _ in _children(schema, path):
        yield from _check_all(child, below)
    for child, below in _nested(schema, path):
        yield from _check_all(child, below)


def _check_list(schema: Obj, path: str) -> Iterator[Cause]:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_KEYS) or [], schema.get("items")
    if kind and schema.get("type") != "array":
        yield invalid_value(f"{path}.type", schema.get("type", ""), f"must be array if {_LIST_TYPE} is specified")
    if kind and kind not in LIST_TYPES:
        yield not_supported(f"{path}.{_LIST_TYPE}", kind, LIST_TYPES)
    if kind != "map":
        if keys:
            yield not_allowed(f"{path}.{_LIST_TYPE}", f"must be map if {_KEYS} is non-empty")
        return
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if not isinstance(items, dict):
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
        return
    if items.get("type") != "object":
        yield invalid_value(f"{path}.items.type", items.get("type", ""), f"must be object if parent array's {_LIST_TYPE} is map")
    properties = items.get("properties") or {}
    if any(key not in properties for key in keys):
        yield invalid_value(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
    for key in keys:
        if key in properties and "default" not in properties[key] and key not in (items.get("required") or ()):
            why = f"this property is in {_KEYS}, so it must have a default or be a required property"
            yield required(f"{path}.items.properties[{key}].default", why)


def _check_structure(schema: Obj, path: str, place: str) -> Iterator[Cause]:
    """Every part says its type, and a junction says nothing of types."""
    if not _is_either(schema):
        for child, below in _nested(schema, path):
            yield from _check_nested(child, below)
    if not schema.get("type") and not schema.get(_EITHER) and not (schema.get(_OPEN) and place != "at the root"):
        yield required(f"{path}.type", f"must not be empty {place}")
    elif place == "at the root" and schema.get("type") != "object":
        yield invalid_value(f"{path}.type", schema["type"], "must be object at the root")
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")
    if schema.get(_EMBEDDED) and not schema.get(_OPEN) and not schema.get("properties"):
        why = f"must not be empty if {_EMBEDDED} is true without {_OPEN}"
        yield required(f"{path}.properties", why)
    for child, below, where in _children(schema, path):
        yield from _check_structure(child, below, where)


def _check_nested(schema: Obj, path: str) -> Iterator[Cause]:
    yield from (not_allowed(f"{path}.{name}", "must be empty to be structural") for name in _STRUCTURE if schema.get(name))
    for child, below, _ in _children(schema, path):
        yield from _check_nested(child, below)
    for child, below in _nested(schema, path):
        yield from _check_nested(child, below)


def _is_either(schema: Obj) -> bool:
    """An integer or a string, as it may be spelt out (alone, or as the first of allOf)."""
    junction = schema.get("anyOf") or ((schema.get("allOf") or [{}])[0]).get("anyOf")
    return bool(schema.get(_EITHER)) and junction == [{"type": "integer"}, {"type": "string"}]


def _check_metadata(schema: Obj, path: str) -> Iterator[Cause]:
    meta = (schema.get("properties") or {}).get("metadata")
    if not isinstance(meta, dict):
        return
    path = f"{path}.properties[metadata]"
    if meta.get("type") != "object":
        yield invalid_value(f"{path}.type", meta.get("type", ""), "must be object")
    elif not set(meta.get("properties") or ()) <= {"name", "generateName"}:
        yield not_allowed(path, "must not specify anything other than name and generateName, but metadata is implicitly specified")


def _check_defaults(schema: Obj, path: str) -> Iterator[Cause]:
    default = schema.get("default")
    if default is not None:
        dropped: list[str] = []
        Node(schema).prune(_copied(default), "", dropped)
        if dropped:
            yield invalid_value(f"{path}.default", default, "must not have unknown fields")
        for cause in instance_causes(schema, default):
            yield Cause(f"{path}.default" + (f".{cause.field}" if cause.field else ""), cause.reason, cause.message)
    for child, below, _ in _children(schema, path):
        yield from _check_defaults(child, below)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(member) for name, member in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
