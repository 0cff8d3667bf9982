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

    namespace, name = file["metadata"]["namespace"], file["metadata"]["name"]
    try:
        found = await client.get(RAYCLUSTERS, name, namespace)
    except NotFound:
        return Case(file)
    children, _ = await children_in(client, namespace)
    return Case(merged(found, patch_for(found, file)), found, children)


async def children_in(client: Client, namespace: str) -> tuple[tuple[Obj, ...], frozenset[Resource]]:
    """All that may hang below the clusters of a namespace, and the kinds that may not be listed. Raises ApiError for Pods and Services.

    Kinds that few clusters need may be unknown to the server: then there are none.
    """
    from rayfleet.kube.errors import Forbidden, NotFound
    from rayfleet.raycluster.children import OTHERS, UNREAD

    found: list[Obj] = []
    hidden = set()
    for resource in (PODS, SERVICES, PERSISTENTVOLUMECLAIMS, *OTHERS, ROUTES):
        try:
            items = await client.list(resource, namespace, metadata_only=resource in UNREAD)
        except (NotFound, Forbidden) as error:
            if resource in (PODS, SERVICES):
                raise
            if isinstance(error, Forbidden):
                hidden.add(resource)
            continue
        found += ({**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in items)
    return tuple(found), frozenset(hidden)
