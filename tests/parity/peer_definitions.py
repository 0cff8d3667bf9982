"""KubeRay's definitions, as far as pruning goes: ours, reduced to the fields that its release has, also where a RayService's or a RayJob's
embeds a RayCluster's spec or has a copy of its status.

peer_fields.txt    the paths of those fields in KubeRay v1.7 (reference: KubeRay, 1.1, 1.2); a field that we add is not among them

KubeRay's spells Pod templates out; of the metadata in one it keeps what is listed here and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayfleet.api.crds import crds
from tests.parity.canonical import Json

FILE = Path(__file__).with_name("peer_fields.txt")
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
KEPT_METADATA = {
    "name": {"type": "string"},
    "namespace": {"type": "string"},
    "labels": TEXTS,
    "annotations": TEXTS,
    "finalizers": {"type": "array", "items": {"type": "string"}},
}


def peer_crds() -> tuple[Json, ...]:
    """All four, reduced; the RayCronJob's by the one field that is ours."""
    documents = crds()
    fields = set(FILE.read_text().split())
    for version in documents[0]["spec"]["versions"]:
        reduce(version["schema"]["openAPIV3Schema"], fields, "")
    for document in documents[1:]:
        for version in document["spec"]["versions"]:
            for name, part in embedded(version["schema"]["openAPIV3Schema"]):
                reduce(part, fields, name)
    for version in documents[3]["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["observedGeneration"]
    return documents


EMBEDDED = {"rayClusterConfig": "spec", "rayClusterSpec": "spec", "rayClusterStatus": "status"}


def embedded(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a definition that is a RayCluster's spec or status, and which of them it is."""
    for name, part in (schema.get("properties") or {}).items():
        if name in EMBEDDED:
            yield EMBEDDED[name], part
        else:
            yield from embedded(part)


def reduce(schema: dict[str, Any], fields: set[str], path: str) -> None:
    """Takes out, in place, every property whose path is not among the fields."""
    if "items" in schema:
        reduce(schema["items"], fields, f"{path}[]")
    properties = schema.get("properties") or {}
    for name in list(properties):
        below = f"{path}.{name}".lstrip(".")
        if path and below not in fields:
            del properties[name]
        else:
            reduce(properties[name], fields, below)
    if path.endswith(".template") and schema.get("x-kubernetes-preserve-unknown-fields"):
        schema["properties"] = {"metadata": {"type": "object", "properties": dict(KEPT_METADATA)}}


def paths(schema: dict[str, Any], path: str = "") -> list[str]:
    """Of every field below spec and status, in the order of the document."""
    found = paths(schema["items"], f"{path}[]") if "items" in schema else []
    for name, part in (schema.get("properties") or {}).items():
        below = f"{path}.{name}".lstrip(".")
        found += ([below] if path else []) + paths(part, below)
    return found
