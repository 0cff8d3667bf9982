"""The schema of one version of a custom resource: pruning, defaults, validation with Kubernetes' sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from rayfleet.apiserver import pattern
from rayfleet.apiserver.embedded import check_embedded
from rayfleet.apiserver.formats import FORMATS
from rayfleet.apiserver.list_types import Lists
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.rules import Rules
from rayfleet.apiserver.schema_errors import Found, found
from rayfleet.apiserver.status_error import TOLD, Cause, invalid_value, not_supported, quote, required
from rayfleet.apiserver.structure import Node

_COPIED = (
    "required",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
)
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LISTS = ("allOf", "anyOf", "oneOf")
UNCHECKED = Cause(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_BLOCKING = frozenset({"FieldValueNotSupported", "FieldValueRequired", "FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany"})
_MISSING = object()
_JUNCTIONS = {
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf)",
    "not": "must not validate the schema (not)",
}
_FORMATS = {f"kubernetes-{name}": test for name, test in FORMATS.items()}
"""under names of our own: those of JSON Schema mean something else here and there"""
_INTEGERS = {"int32": 32, "int64": 64}


class StructuralSchema:
    """Implements kind.Schema. Built cheaply; the validator is compiled when the first object comes."""

    def __init__(self, schema: Obj) -> None:
        root = {**schema, "properties": {**schema.get("properties", {})}}
        for name in ("apiVersion", "kind", "metadata"):
            root["properties"].pop(name, None)
        root["x-kubernetes-embedded-resource"] = True
        self._root = Node(root)
        self._schema = schema
        self._rules = Rules(schema)
        self._lists = Lists(schema)
        self._validator: Any = None

    def prune(self, obj: Obj) -> list[str]:
        dropped: list[str] = []
        self._root.prune(obj, "", dropped)
        return dropped

    def default(self, obj: Obj) -> None:
        self._root.fill(obj)

    def check(self, obj: Obj, old: Obj | None) -> list[Cause]:
        causes = self._faults(obj, old)
        return causes + self._ruled(obj, old, self._rules, causes)

    def check_status(self, part: Obj, old: Obj) -> list[Cause]:
        causes = [each for each in self._faults(part, old) if each.field.startswith(("status", "<nil>"))]
        causes += self._ruled(part, old, self._rules.below("status"), causes)
        # A status is judged as if it stood alone.
        return [
            Cause(each.field, each.reason, each.message.replace(f" {each.field} in body", f" {each.field[7:]} in body")) for each in causes
        ]

    def _faults(self, obj: Obj, old: Obj | None) -> list[Cause]:
        return self._schema_causes(obj, old) + list(self._lists.check(obj)) + check_embedded(self._root, obj)

    def _ruled(self, obj: Obj, old: Obj | None, rules: Rules, causes: list[Cause]) -> list[Cause]:
        """What `rules` say; that nobody asked them, when a cause is such that they could not be."""
        if self._rules.any and any(cause.reason in _BLOCKING for cause in causes):
            return [UNCHECKED]
        return rules.check(obj, old) if rules.any else []

    def _schema_causes(self, obj: Obj, old: Obj | None) -> list[Cause]:
        if self._validator is None:
            self._validator = _compiled(self._schema)
        if self._validator.is_valid(obj):
            return []
        # Ratcheting: what was wrong before and did not change is not held against a write.
        wrong = (each for each in found(self._schema, obj, self._compiled) if old is None or _differs(old, obj, each.place))
        return list(islice((cause for each in wrong for cause in _causes(each)), TOLD))

    def _compiled(self, schema: Obj) -> Any:
        return self._validator if schema is self._schema else _compiled(schema)


def fault(schema: Obj) -> str | None:
    """What makes a schema unusable, such as a pattern that is no regular expression."""
    try:
        _compiled(schema)
    except ValueError as failure:
        return str(failure)
    return None


def instance_causes(schema: Obj, value: Any) -> list[Cause]:
    """What a schema says of one value; paths begin at the value."""
    return [cause for each in found(schema, value, _compiled) for cause in _causes(each)]


def _compiled(schema: Obj) -> Any:
    import jsonschema_rs

    plain = _json_schema({**schema, "x-kubernetes-embedded-resource": False})
    return jsonschema_rs.Draft7Validator(plain, pattern_options=pattern.options(), validate_formats=True, formats=_FORMATS)


def _copied(schema: Obj) -> Obj:
    """A definition may ask for less than nothing, which the validator does not take."""
    result = {name: schema[name] for name in _COPIED if schema.get(name) is not None}
    result |= {name: max(0, result[name]) for name in _SIZES if name in result}
    if result.get("multipleOf", 1) <= 0:
        del result["multipleOf"]
    return result


def _json_schema(schema: Obj) -> Obj:
    """JSON Schema of the same meaning: nullable, int-or-string and OpenAPI's boolean exclusive bounds translated."""
    result = _copied(schema)
    nullable = bool(schema.get("nullable"))
    if result.get("pattern"):
        result["pattern"] = pattern.linear(result["pattern"])
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string", *(["null"] if nullable else [])]
    elif schema.get("type"):
        result["type"] = [schema["type"], "null"] if nullable else schema["type"]
    if schema.get("type") == "string" and (wanted := f"kubernetes-{schema.get('format')}") in _FORMATS:
        result["format"] = wanted
    if schema.get("enum") is not None:
        result["enum"] = [*schema["enum"], None] if nullable and None not in schema["enum"] else schema["enum"]
    for bound in ("minimum", "maximum"):
        if schema.get(bound) is not None:
            exclusive = "exclusive" + bound.capitalize()
            result[exclusive if schema.get(exclusive) else bound] = schema[bound]
    if schema.get("x-kubernetes-embedded-resource"):
        result["required"] = [
            *result.get("required", ()),
            *(name for name in ("apiVersion", "kind") if name not in result.get("required", ())),
        ]
    if properties := schema.get("properties"):
        result["properties"] = {name: _json_schema(child) for name, child in properties.items()}
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            result[name] = _json_schema(schema[name])
    for name in _LISTS:
        if schema.get(name):
            result[name] = [_json_schema(child) for child in schema[name]]
    if schema.get("type") == "integer":
        bits = _INTEGERS.get(schema.get("format") or "", 64)
        # After those of the schema itself, so that it is known for one that it has not.
        result["allOf"] = [*result.get("allOf", ()), {"minimum": -(2 ** (bits - 1)), "maximum": 2 ** (bits - 1) - 1}]
    return result


def _causes(found: Found) -> list[Cause]:
    cause = _cause(found)
    if cause.reason == "FieldValueTypeInvalid" and cause.message.endswith('must be of type integer: "number"'):
        # Its range is checked as well, and told of without a place.
        return [cause, _nowhere(f"Checked value must be of type integer (default format) in {cause.field}")]
    return [cause]


def _cause(found: Found) -> Cause:
    """A schema error in the words of Kubernetes (kube-openapi's validation errors)."""
    error, schema = found.error, found.schema
    path, value, kind = field_path(found.place), _at(found.value, error.instance_path), error.kind.name
    if kind == "format":
        return _format_cause(path, value, str(error.kind.format).removeprefix("kubernetes-"))
    if kind in _JUNCTIONS:
        return _nowhere(f'"{path}" {_JUNCTIONS[kind]}')
    if kind == "required":
        return required(f"{path}.{error.kind.property}" if path else str(error.kind.property))
    if kind == "type":
        return _type_cause(path, value, error.kind.types)
    if kind == "enum":
        return not_supported(path, value, [str(option) for option in error.kind.options])
    if kind == "maxLength":
        return Cause(path, "FieldValueTooLong", f"Too long: may not be more than {error.kind.limit} bytes")
    if kind in ("maxItems", "maxProperties"):
        return Cause(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {error.kind.limit} items")
    if kind in ("minimum", "maximum") and _at(schema, list(error.schema_path)) is _MISSING:
        if _at(schema, [*list(error.schema_path)[:-3], "format"]) not in _INTEGERS:
            return _type_cause(path, value, ["integer"])
        return _format_cause(path, value, next(name for name, bits in _INTEGERS.items() if abs(error.kind.limit) <= 2 ** (bits - 1)))
    shown = len(value) if kind in ("minItems", "minProperties") else value
    return invalid_value(path, shown, f"{path} in body {_sentence(error, kind, schema)}")


def _nowhere(why: str) -> Cause:
    """What Kubernetes tells of without a place."""
    return Cause("<nil>", "FieldValueInvalid", f'Invalid value: "": {why}')


def _format_cause(path: str, value: Any, name: str) -> Cause:
    if isinstance(value, str):
        return Cause(path, "FieldValueTypeInvalid", f"Invalid value: {quote(value)}: {path} in body must be of type {name}: {quote(value)}")
    return _nowhere(f"Checked value must be of type integer with format {name} in {path}")


def _type_cause(path: str, value: Any, types: list[str]) -> Cause:
    found = type_name(value)
    wanted = ",".join(name for name in types if name != "null")
    text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return Cause(path, "FieldValueTypeInvalid", text)


def _sentence(error: Any, kind: str, schema: Obj) -> str:
    value = error.kind.value
    if kind == "pattern":
        # As it stands in the schema; what is asked here is its translation.
        return f"should match '{_at(schema, list(error.schema_path))}'"
    sentences = {
        "minimum": f"should be greater than or equal to {value}",
        "maximum": f"should be less than or equal to {value}",
        "exclusiveMinimum": f"should be greater than {value}",
        "exclusiveMaximum": f"should be less than {value}",
        "minLength": f"should be at least {value} chars long",
        "minItems": f"should have at least {value} items",
        "minProperties": f"should have at least {value} properties",
        "multipleOf": f"should be a multiple of {value}",
        "uniqueItems": "shouldn't contain duplicates",
    }
    return sentences.get(kind, str(error.message))


def field_path(where: Iterable[str | int]) -> str:
    """spec.groups[0].name"""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def type_name(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "object")


def shown(value: Any) -> str:
    """A value as Kubernetes' CEL errors print it: containers by their type."""
    return quote(type_name(value)) if isinstance(value, (dict, list)) else quote(value)


def _differs(old: Obj, new: Obj, where: Iterable[str | int]) -> bool:
    return bool(_at(old, where) != _at(new, where))


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value
