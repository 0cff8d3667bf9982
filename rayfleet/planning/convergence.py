"""What of an object is no longer as its manifest wants it, as a merge patch.

The API server and others add fields of their own, so that only what the manifest says is compared; but some maps and lists must hold
nothing else (a selector with one more label finds nothing, a role with one more rule gives away more).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXACT = frozenset({"selector", "rules", "subjects"})


def drift(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that puts `found` right; empty when it holds all that `wanted` says."""
    patch: dict[str, Any] = {}
    for name, value in wanted.items():
        other = found.get(name)
        if value == other:
            continue
        if name in EXACT:
            patch |= exactly(name, value, other)
        elif isinstance(value, Mapping) and isinstance(other, Mapping):
            if inner := drift(value, other):
                patch[name] = inner
        elif not holds(value, other):
            patch[name] = value
    return patch


def exactly(name: str, value: Any, other: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        extra = dict.fromkeys((other or {}).keys() - value.keys())
        return {} if value == other else {name: {**value, **extra}}
    same = isinstance(other, Sequence) and len(value) == len(other) and all(map(holds, value, other))
    return {} if same else {name: value}


def holds(value: Any, other: Any) -> bool:
    """Does `other` say at least what `value` says? Lists must be as long and in order; an absent empty value is no difference."""
    if value == other:
        return True  # most are, and to see that is quick
    if isinstance(value, Mapping):
        return isinstance(other, Mapping) and all(holds(part, other.get(name)) for name, part in value.items())
    if isinstance(value, list | tuple):
        found = other if isinstance(other, list | tuple) else ()
        return len(value) == len(found) and all(map(holds, value, found))
    return other is None and value in ("", False, 0)


def compared(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a manifest that are held to: all but what identifies it."""
    metadata = manifest["metadata"]
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    rest = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {"metadata": kept, **rest}


def places(patch: Mapping[str, Any], prefix: str = "") -> str:
    """The places of a patch, for the sentence: `spec.selector, metadata.labels`."""
    found: list[str] = []
    for name, value in sorted(patch.items()):
        inner = isinstance(value, Mapping) and not prefix
        found.append(places(value, f"{name}.") if inner and value else f"{prefix}{name}")
    return ", ".join(found)


def refuses_in_place(patch: Mapping[str, Any]) -> bool:
    """Is this a change of a Service that the API wants to be made by a new one?"""
    return bool(patch.get("spec", {}).keys() & {"clusterIP", "type"})
