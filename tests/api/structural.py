"""Kubernetes' rules for structural schemas, as a checker of our own.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FORBIDDEN = {
    "definitions",
    "dependencies",
    "deprecated",
    "discriminator",
    "id",
    "patternProperties",
    "readOnly",
    "writeOnly",
    "xml",
    "$ref",
}
SPECIAL = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
TYPES = {"object", "array", "string", "integer", "number", "boolean"}
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
LIST_TYPES = {"atomic", "set", "map"}


def faults(schema: Any, path: str = "") -> Iterator[str]:
    """Why the schema is not structural; nothing when it is."""
    yield from keyword_faults(schema, path)
    yield from type_faults(schema, path)
    if schema.get("x-kubernetes-list-type") == "map":
        yield from list_map_faults(schema, path)
    for name, part in schema.get("properties", {}).items():
        yield from faults(part, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from faults(schema[keyword], f"{path}.{keyword}")
    for name in schema.get("required", ()):
        if name not in schema.get("properties", {}):
            yield f"{path}: requires {name}, which it does not have"


def keyword_faults(schema: Any, path: str) -> Iterator[str]:
    for word in FORBIDDEN & schema.keys():
        yield f"{path}: {word} is forbidden"
    if "properties" in schema and "additionalProperties" in schema:
        yield f"{path}: properties and additionalProperties exclude each other"
    if schema.get("additionalProperties") in (True, False):
        yield f"{path}: additionalProperties must be a schema"
    if schema.get("uniqueItems"):
        yield f"{path}: uniqueItems is forbidden"
    for word in ("allOf", "oneOf", "not"):
        if word in schema:
            yield f"{path}: {word} is not used here"
    if "anyOf" in schema and not schema.get("x-kubernetes-int-or-string"):
        yield f"{path}: anyOf without int-or-string"


def type_faults(schema: Any, path: str) -> Iterator[str]:
    if schema.get("x-kubernetes-int-or-string"):
        if "type" in schema or schema.get("anyOf") != INT_OR_STRING:
            yield f"{path}: int-or-string has no type, and anyOf of the two"
        return
    if schema.get("type") not in TYPES:
        yield f"{path}: has no type"
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{path}: an array without items"
    if schema.get("type") != "array" and schema.keys() & {"items", "x-kubernetes-list-type"}:
        yield f"{path}: items of what is no array"
    if schema.get("type") != "object" and schema.keys() & {"properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"}:
        yield f"{path}: fields of what is no object"
    if schema.get("x-kubernetes-list-type", "atomic") not in LIST_TYPES:
        yield f"{path}: unknown list type"


def list_map_faults(schema: Any, path: str) -> Iterator[str]:
    """Each key must be there in each element: required, or with a default."""
    item = schema["items"]
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        if key not in item.get("required", ()) and "default" not in item["properties"][key]:
            yield f"{path}: the key {key} may be missing"
    if not schema.get("x-kubernetes-list-map-keys"):
        yield f"{path}: a list-map without keys"
