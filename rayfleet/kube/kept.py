"""Which fields of a kind an API server keeps: by its OpenAPI v3, which everybody may read whom it knows (ClusterRole system:discovery)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api.meta import Resource
from rayfleet.kube.client import Client, decode
from rayfleet.kube.errors import NotFound

KINDS = "x-kubernetes-group-version-kind"
OPEN = "x-kubernetes-preserve-unknown-fields"


class Components(msgspec.Struct, frozen=True):
    schemas: dict[str, dict[str, Any]] = {}


class Document(msgspec.Struct, frozen=True):
    components: Components = Components()


async def keeps(client: Client, resource: Resource, *path: str) -> bool | None:
    """Does the server keep the field, or prune it? None while it does not serve the kind. Raises ApiError."""
    try:
        document = decode(await client.request("GET", f"/openapi/v3/apis/{resource.api_version}"), Document)
    except NotFound:
        return None
    wanted = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    found = next((each for each in document.components.schemas.values() if wanted in each.get(KINDS, ())), None)
    return None if found is None else is_kept(found, path)


def is_kept(schema: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    if not path or schema.get(OPEN):
        return True
    below = (schema.get("properties") or {}).get(path[0])
    return below is not None and is_kept(below, path[1:])
