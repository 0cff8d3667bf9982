"""Manifests of KubeRay's `ray.io/v1alpha1`: the same kinds, of which some fields went on to nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.legacy.note import Converted, Inconvertible, Note, Obj
from rayfleet.api.load import DECLARATIONS, unknown_fields

OLD = "ray.io/v1alpha1"
HARMLESS = ("replicas",)
"""Of the head: there is one."""
ADVICE = {
    "serveConfig": "write spec.serveConfigV2, with an application of that import path",
    "serveDeploymentGraphSpec": "write spec.serveConfigV2, with an application of that import path",
    "enableInTreeAutoscaling": "it stands at the top of the cluster's spec",
}


def convert_alpha(document: Obj) -> Converted:
    """Raises Inconvertible."""
    kind = document.get("kind")
    if kind not in DECLARATIONS:
        raise Inconvertible(f"{OLD} has no kind {kind} that could be converted")
    body = {**document, "apiVersion": "ray.io/v1"}
    body.pop("status", None)
    notes = []
    for unknown in unknown_fields(msgspec.json.encode(body)):
        harmless = unknown.path.endswith(tuple(f"headGroupSpec.{name}" for name in HARMLESS))
        name = unknown.path.rpartition(".")[2]
        body = without(body, list(steps(unknown.path)))
        said = "there is one head" if harmless else "ray.io/v1 has no such field"
        advice = "" if harmless else ADVICE.get(name, f"perhaps {unknown.meant} is meant" if unknown.meant else "")
        notes.append(Note(unknown.path, said, advice, lost=not harmless))
    return Converted((body,), tuple(notes))


def steps(path: str) -> Iterator[str | int]:
    """`spec.workerGroupSpecs[0].x` -> spec, workerGroupSpecs, 0, x."""
    for part in path.split("."):
        name, _, rest = part.partition("[")
        yield name
        yield from (int(index) for index in rest.rstrip("]").split("][") if rest)


def without(value: Any, way: list[str | int]) -> Any:
    """A copy that lacks what is at the end of the way."""
    first, rest = way[0], way[1:]
    if isinstance(value, list) and isinstance(first, int):
        return [without(each, rest) if index == first else each for index, each in enumerate(value)]
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {name: part for name, part in value.items() if name != first}
    return {name: without(part, rest) if name == first else part for name, part in value.items()}
