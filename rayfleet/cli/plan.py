"""`rayfleet plan`."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.options import api_options, client_of, connection_of, files_option, namespace_option

if TYPE_CHECKING:
    from rayfleet.kube.client import Client

Case = tuple[dict[str, Any], list[dict[str, Any]]]


@click.command()
@files_option
@namespace_option
@click.option("--live", is_flag=True, help="Against what the API server has now; it is read, never written.")
@configuration_options
@api_options
def command(files: tuple[str, ...], namespace: str | None, live: bool, file: str | None, gates: str, **api: Any) -> None:
    """Print what the operator would do next for the RayClusters of files, and why.

    Without --live no API server is asked: the clusters are taken for new ones.

    \b
    Examples:
      rayfleet plan -f examples/two-clusters.yaml
      rayfleet plan --live -f changed.yaml
    """
    from rayfleet.cli.render import clusters_of
    from rayfleet.sim.ideal import next_steps
    from rayfleet.sim.transcript import plan_told

    configuration = configuration_of(file, gates, os.environ)
    if live:
        connection = connection_of(**api)

        async def run() -> list[Case]:
            async with client_of(connection) as client:
                return [await as_applied(client, each) for each in clusters_of(files, namespace or connection.namespace)]

        cases = asyncio.run(run())
    else:
        cases = [(each, []) for each in clusters_of(files, namespace or "default")]
    for cluster, children in cases:
        metadata = cluster["metadata"]
        lines = plan_told(next_steps(cluster, configuration, time.time(), children))
        click.echo(f"raycluster {metadata['namespace']}/{metadata['name']}")
        click.echo("\n".join(f"  {line}" for line in lines or ["nothing to do"]))


async def as_applied(client: Client, wanted: dict[str, Any]) -> Case:
    """(the object as it would be after `apply` of this file, its children as they are)."""
    from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES
    from rayfleet.cli.merge import merged, patch_for
    from rayfleet.kube.errors import NotFound
    from rayfleet.raycluster.children import OTHERS

    namespace, name = wanted["metadata"]["namespace"], wanted["metadata"]["name"]
    try:
        found = await client.get(RAYCLUSTERS, name, namespace)
    except NotFound:
        return wanted, []
    children = [
        {"apiVersion": "v1", "kind": resource.kind} | item
        for resource in (PODS, SERVICES, *OTHERS)
        for item in await client.list(resource, namespace)
    ]
    return merged(found, patch_for(found, wanted)), children
