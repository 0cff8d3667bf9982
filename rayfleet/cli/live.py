"""Ray objects as they would be after `apply` of a file, and what hangs below them now. Read, never written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rayfleet.api.meta import (
    ENDPOINTSLICES,
    GATEWAYS,
    HTTPROUTES,
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    ROUTES,
    SERVICES,
    Resource,
)
from rayfleet.cli.failure import Failure
from rayfleet.cli.ray_kinds import RAY_KINDS

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.kube.client import Client

Obj = dict[str, Any]
OF_OTHERS = (RAYCLUSTERS, RAYJOBS, JOBS, ENDPOINTSLICES, GATEWAYS, HTTPROUTES)
NEEDED = (PODS, SERVICES, RAYCLUSTERS)


@dataclass(frozen=True, slots=True)
class Case:
    """`found` is None for an object that is not there yet; `children` are everybody's of its namespace."""

    wanted: Obj
    found: Obj | None = None
    children: tuple[Obj, ...] = ()

    @property
    def kind(self) -> str:
        return str(self.wanted["kind"])

    @property
    def title(self) -> str:
        return f"{self.wanted['metadata']['namespace']}/{self.wanted['metadata']['name']}"


def objects_of(files: tuple[str, ...], namespace: str) -> list[Obj]:
    """The Ray objects of files, each with a namespace. Raises Failure when there is none, BadManifest."""
    from rayfleet.cli.manifests import load_manifests
    from rayfleet.sim.ideal import is_ray

    found = [each.sendable() for each in load_manifests(files)]
    found = [each for each in found if is_ray(each)]
    if not found:
        raise Failure(f"no RayCluster, RayJob, RayService or RayCronJob in {', '.join(files)}")
    return [each | {"metadata": {"namespace": namespace} | each["metadata"]} for each in found]


def unattended(case: Case, configuration: Configuration) -> Iterator[str]:
    """Why nothing of this will come to be."""
    if case.kind == RAYCRONJOBS.kind and not configuration.gate("RayCronJob"):
        yield "the operator looks after no RayCronJob unless it is started with --feature-gates RayCronJob=true"


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

    namespace, name, resource = file["metadata"]["namespace"], file["metadata"]["name"], RAY_KINDS[file["kind"]]
    try:
        found = await client.get(resource, name, namespace)
    except NotFound:
        return Case(file)
    children, _ = await children_in(client, namespace, () if resource == RAYCLUSTERS else OF_OTHERS)
    wanted = merged(found, patch_for(found, file))
    if wanted["spec"] != found["spec"]:
        wanted["metadata"] = {**wanted["metadata"], "generation": found["metadata"]["generation"] + 1}
    return Case(wanted, found, children)


async def children_in(client: Client, namespace: str, more: tuple[Resource, ...] = ()) -> tuple[tuple[Obj, ...], frozenset[Resource]]:
    """All that may hang below the clusters of a namespace, objects of `more` kinds, and the kinds that may not be listed. Raises ApiError
    for Pods, Services and RayClusters.

    Kinds that few clusters need may be unknown to the server: then there are none.
    """
    from rayfleet.kube.errors import Forbidden, NotFound
    from rayfleet.raycluster.children import OTHERS, UNREAD

    found: list[Obj] = []
    hidden = set()
    for resource in (PODS, SERVICES, PERSISTENTVOLUMECLAIMS, *OTHERS, ROUTES, *more):
        try:
            items = await client.list(resource, namespace, metadata_only=resource in UNREAD)
        except (NotFound, Forbidden) as error:
            if resource in NEEDED:
                raise
            if isinstance(error, Forbidden):
                hidden.add(resource)
            continue
        found += ({**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in items)
    return tuple(found), frozenset(hidden)
