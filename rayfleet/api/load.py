"""Manifests as the command line reads them: JSON bytes in, typed values out, and what is not ours as it came.

YAML is parsed where files are read. Fields that nobody knows are reported, not refused: the API server drops them silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import msgspec

from rayfleet.api.decode import Undecodable, converted, decode
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.model import Node, is_condition, is_metadata, join, model_of
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService

GROUP = "ray.io"
VERSIONS = ("v1", "v1alpha1")
Ours = RayCluster | RayJob | RayService | RayCronJob
DECLARATIONS: MappingProxyType[str, type[Ours]] = MappingProxyType(
    {"RayCluster": RayCluster, "RayJob": RayJob, "RayService": RayService, "RayCronJob": RayCronJob}
)


class Other(msgspec.Struct, frozen=True, gc=False):
    """An object of another kind in the same file (a ConfigMap, a Secret ...): passed on as it came."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    raw: msgspec.Raw


class Unknown(msgspec.Struct, frozen=True, gc=False, order=True):
    """A field that has no place at its path, and the known one that was perhaps meant ("" when none is near)."""

    path: str
    meant: str = ""

    def __str__(self) -> str:
        return f"{self.path}: unknown; did you mean {self.meant}?" if self.meant else f"{self.path}: unknown"


def load(raw: bytes) -> Ours | Other | Undecodable:
    """One object of a manifest, by its apiVersion and kind. Raises ValueError for what is no Kubernetes object at all."""
    document = document_of(raw)
    cls = declaration_of(document)
    if cls is not None:
        return decode(raw, cls)
    return Other(document["apiVersion"], document["kind"], converted(document.get("metadata"), ObjectMeta), msgspec.Raw(raw))


def unknown_fields(raw: bytes) -> tuple[Unknown, ...]:
    """Fields of one of our kinds that its declaration does not have, in the order of the document; () for any other kind.

    Templates, embedded Kubernetes objects and metadata are not looked into: they may be newer than this program.
    Raises ValueError as `load` does.
    """
    document = document_of(raw)
    cls = declaration_of(document)
    return tuple(unknown(document, model_of(cls), "")) if cls else ()


def document_of(raw: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("no Kubernetes object: a manifest is a mapping with apiVersion, kind and metadata")
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str) or not document[name]:
            raise ValueError(f"no Kubernetes object: {name} is missing")
    return document


def declaration_of(document: dict[str, Any]) -> type[Ours] | None:
    """The declaration of the object's kind. Raises ValueError for a kind or a version of our group that does not exist."""
    group, _, version = document["apiVersion"].partition("/")
    if group != GROUP:
        return None
    cls = DECLARATIONS.get(document["kind"])
    if cls is None:
        raise ValueError(f"{GROUP} has no kind {document['kind']}; it has {', '.join(DECLARATIONS)}")
    if version not in VERSIONS:
        raise ValueError(f"{GROUP} has no version {version}; it has {' and '.join(VERSIONS)}")
    return cls


def unknown(value: Any, node: Node, path: str) -> Iterator[Unknown]:
    if is_metadata(node) or is_condition(node):
        return
    if node.form == "object" and isinstance(value, dict):
        for name, part in value.items():
            field = node.fields.get(name)
            if field is None:
                yield Unknown(join(path, name), next(iter(get_close_matches(name, node.fields, n=1)), ""))
            else:
                yield from unknown(part, field.node, join(path, name))
    elif node.form == "map" and node.item and isinstance(value, dict):
        for key, part in value.items():
            yield from unknown(part, node.item, join(path, key))
    elif node.form == "list" and node.item and isinstance(value, list):
        for index, part in enumerate(value):
            yield from unknown(part, node.item, f"{path}[{index}]")
