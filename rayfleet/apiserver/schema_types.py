"""Of which types the members of a schema are (apiextensions.k8s.io/v1 JSONSchemaProps)."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver.status_error import malformed

_TEXTS = ("type", "format", "pattern", "title", "description", "$ref", "id", "x-kubernetes-list-type", "x-kubernetes-map-type")
_NUMBERS = ("maximum", "minimum", "multipleOf")
_COUNTS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_FLAGS = ("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "x-kubernetes-preserve-unknown-fields")
_FLAGS += ("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string")
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(_NUMBERS, (int, float)),
    **dict.fromkeys(_COUNTS, (int,)),
    **dict.fromkeys(_FLAGS, (bool,)),
    **dict.fromkeys(("required", "enum", "x-kubernetes-list-map-keys", "x-kubernetes-validations"), (list,)),
    **dict.fromkeys(("properties", "items", "not", "patternProperties", "definitions", "dependencies"), (dict,)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), (list,)),
    "additionalProperties": (dict, bool),
}
_INSIDE: dict[str, type] = {"required": str, "x-kubernetes-list-map-keys": str, "x-kubernetes-validations": dict}
_RULE = ("rule", "message", "messageExpression", "reason", "fieldPath")


def check_types(schema: Any) -> None:
    """Raises 400 for a member of another type, however deep."""
    waiting = [schema] if isinstance(schema, dict) else []
    while waiting:
        each = waiting.pop()
        if not isinstance(each, dict):
            raise _mistyped("a schema", each)
        for name, value in each.items():
            if value is None or (types := _TYPES.get(name)) is None:
                continue
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise _mistyped(name, value)
            if name in _INSIDE:
                _check_items(name, value)
            elif types == (list,) and name != "enum":
                waiting += value
        waiting += [value for name in ("items", "not", "additionalProperties") if isinstance(value := each.get(name), dict)]
        waiting += (each.get("properties") or {}).values()


def _check_items(name: str, items: list[Any]) -> None:
    for item in items:
        if not isinstance(item, _INSIDE[name]):
            raise _mistyped(name, item)
        for word in _RULE if isinstance(item, dict) else ():
            if not isinstance(item.get(word) or "", str):
                raise _mistyped(word, item[word])


def _mistyped(name: str, value: Any) -> Exception:
    kind = "CustomResourceDefinition"
    return malformed(kind, "v1", f"json: cannot unmarshal {type(value).__name__} into JSONSchemaProps.{name}")
