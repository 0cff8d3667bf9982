"""What an installed CustomResourceDefinition drops of what ours keeps. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

GENERATOR = "controller-gen.kubebuilder.io/version"


def difference(ours: Mapping[str, Any], theirs: Mapping[str, Any], version: str = "v1") -> list[str]:
    """Paths that the server prunes, the topmost of each tree: `spec.tlsOptions`, `spec.workerGroupSpecs[].priority`."""
    return list(pruned(schema_of(ours, version), schema_of(theirs, version), ""))


def schema_of(definition: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    for each in definition["spec"]["versions"]:
        if each["name"] == version:
            found: Mapping[str, Any] = (each.get("schema") or {}).get("openAPIV3Schema") or {}
            return found
    return {}


def pruned(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str) -> Iterator[str]:
    if theirs.get("x-kubernetes-preserve-unknown-fields"):
        return
    kept = theirs.get("properties") or {}
    for name, part in (ours.get("properties") or {}).items():
        place = f"{path}.{name}" if path else name
        if name in kept:
            yield from pruned(part, kept[name], place)
        elif not isinstance(theirs.get("additionalProperties"), dict):
            yield place
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner, other = ours.get(key), theirs.get(key)
        if isinstance(inner, dict) and isinstance(other, dict):
            yield from pruned(inner, other, path + mark)


def maker(definition: Mapping[str, Any]) -> str:
    """KubeRay's definitions carry the mark of the program that generates them; ours do not."""
    return "KubeRay's" if GENERATOR in (definition["metadata"].get("annotations") or {}) else "rayfleet's"
