"""RayClusters as they would be after `apply` of a file, and what hangs below them now. Read, never written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rayfleet.api.meta import PERSISTENTVOLUMECLAIMS, PODS, RAYCLUSTERS, ROUTES, SERVICES, Resource

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.kube.client import Client

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """`found` is None for a cluster that is not there yet; `children` are everybody's of its namespace."""

    wanted: Obj
    found: Obj | None = None
    children: tuple[Obj, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.wanted['metadata']['namespace']}/{self.wanted['metadata']['name']}"


async def discovered(client: Client, configuration: Configuration) -> Configuration:
    """The configuration with what the operator asks of the API server at start. Raises ApiError."""
    from msgspec.structs import replace

    from rayfleet.kube.errors import Forbidden

    try:
        return configuration if configuration.has_routes else replace(configuration, has_routes=await client.serves(ROUTES))
    except Forbidden:
        return configuration


async def as_applied(client: Client, file: Obj) -> Case:
    """Raises ApiError."""
    from rayfleet.cli.merge import merged, patch_for
    from rayfleet.kube.errors import NotFound
    from rayfleet.raycluster.children import OTHERS, UNREAD

    namespace, name = file["metadata"]["namespace"], file["metadata"]["name"]
    try:
        found = await client.get(RAYCLUSTERS, name, namespace)
    except NotFound:
        return Case(file)
    kinds = (PODS, SERVICES, PERSISTENTVOLUMECLAIMS, *OTHERS, ROUTES)
    children = [await listed(client, resource, namespace, resource in UNREAD) for resource in kinds]
    return Case(merged(found, patch_for(found, file)), found, tuple(child for group in children for child in group))


async def listed(client: Client, resource: Resource, namespace: str, metadata_only: bool) -> list[Obj]:
    """Kinds that few clusters need may be unknown to the server, or not for everybody to see."""
    from rayfleet.kube.errors import Forbidden, NotFound

    try:
        found = await client.list(resource, namespace, metadata_only=metadata_only)
    except (NotFound, Forbidden):
        if resource in (PODS, SERVICES):
            raise
        return []
    return [{**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in found]
