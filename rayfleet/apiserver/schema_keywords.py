"""The keywords that the schema of a custom kind has; what is none of them is dropped.

Source: JSONSchemaProps of apiextensions.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.record import Obj

_NESTED = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE = ("items", "additionalItems", "additionalProperties", "not")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_WORDS = """
    $ref $schema id title description example externalDocs type format nullable default enum required
    maximum exclusiveMaximum minimum exclusiveMinimum multipleOf maxLength minLength pattern
    maxItems minItems uniqueItems maxProperties minProperties
    x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-validations
    x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type
"""
KEYWORDS = frozenset((*_NESTED, *_SINGLE, *_SEVERAL, *_WORDS.split()))


def prune_schemas(definition: Obj) -> list[str]:
    """Drops unknown keywords in place, from the schemas of all versions of a well-formed definition; returns their paths."""
    unknown: list[str] = []
    for index, version in enumerate((definition.get("spec") or {}).get("versions") or ()):
        _prune((version.get("schema") or {}).get("openAPIV3Schema"), f"spec.versions[{index}].schema.openAPIV3Schema", unknown)
    return unknown


def _prune(schema: Any, path: str, unknown: list[str]) -> None:
    if not isinstance(schema, dict):
        return
    for name in [name for name in schema if name not in KEYWORDS]:
        del schema[name]
        unknown.append(f"{path}.{name}")
    for child, below in _children(schema, path):
        _prune(child, below, unknown)


def _children(schema: Obj, path: str) -> Iterator[tuple[Any, str]]:
    for keyword in _NESTED:
        for name, child in schema[keyword].items() if isinstance(schema.get(keyword), dict) else ():
            yield child, f"{path}.{keyword}.{name}"
    for keyword in _SINGLE:
        yield schema.get(keyword), f"{path}.{keyword}"
    for keyword in _SEVERAL:
        for index, child in enumerate(schema[keyword]) if isinstance(schema.get(keyword), list) else ():
            yield child, f"{path}.{keyword}[{index}]"
