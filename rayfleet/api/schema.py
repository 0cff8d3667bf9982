"""OpenAPI schemas of CRDs, from the declarations: structural, and as wide as KubeRay's.

Source of the form: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from rayfleet.api.model import Field, Node, is_condition, is_metadata

Schema = dict[str, Any]

# The name of each of our keywords in a schema. What needs more than a name is done in `extras`.
KEYWORDS = {
    "format": "format",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "min_items": "minItems",
    "list_type": "x-kubernetes-list-type",
}
BASES: dict[str, Schema] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "opaque": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "int-or-string": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
}

CAMEL_CASE = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
QUALIFIED_NAME = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
CONDITION: Schema = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": {"type": "string", "maxLength": 32768},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": CAMEL_CASE},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "type": {"type": "string", "maxLength": 316, "pattern": QUALIFIED_NAME},
    },
}


def schema_of(node: Node) -> Schema:
    """The schema of the place that the node stands for; no part of it is shared, or its YAML would be full of anchors."""
    if is_metadata(node):
        return {"type": "object"}
    if is_condition(node):
        return deepcopy(CONDITION)
    return form_of(node) | extras(node)


def form_of(node: Node) -> Schema:
    if node.form == "object":
        return object_of(node)
    if node.form == "map" and node.item:
        return {"type": "object", "additionalProperties": schema_of(node.item)}
    if node.form == "list" and node.item:
        return {"type": "array", "items": schema_of(node.item)}
    return deepcopy(BASES[node.form])


def object_of(node: Node) -> Schema:
    properties = {name: field_schema(field) for name, field in node.fields.items()}
    required = sorted(name for name, field in node.fields.items() if field.node.extra.get("required"))
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def field_schema(field: Field) -> Schema:
    schema = schema_of(field.node)
    if field.node.extra.get("default"):
        schema["default"] = field.default
    return schema


def extras(node: Node) -> Schema:
    extra = node.extra
    schema: Schema = {name: extra[word] for word, name in KEYWORDS.items() if word in extra}
    if "enum" in extra:
        schema["enum"] = list(extra["enum"])
    if "map_key" in extra:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [extra["map_key"]]}
    if extra.get("nullable"):
        schema["nullable"] = True
    if "rules" in extra:
        schema["x-kubernetes-validations"] = [{"rule": each.rule, "message": each.message} for each in extra["rules"]]
    return schema
