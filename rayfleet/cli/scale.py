"""`rayfleet scale`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option


@click.command()
@click.argument("target", metavar="raycluster/NAME")
@click.option("--group", metavar="NAME", help="The worker group; may be left out when there is only one.")
@click.option("--replicas", type=click.IntRange(min=0), required=True, metavar="N")
@namespace_option
@api_options
def command(target: str, group: str | None, replicas: int, namespace: str | None, **api: Any) -> None:
    """Set how many replicas a worker group has.

    \b
    Example:
      rayfleet scale raycluster/one --group small --replicas 3
    """
    from rayfleet.api.meta import RAYCLUSTERS

    kind, _, name = target.rpartition("/")
    if kind.lower() not in ("", "raycluster", "rayclusters", "raycluster.ray.io", "rayclusters.ray.io"):
        raise click.UsageError(f"only RayClusters are scaled; write raycluster/NAME instead of {target}")
    connection = connection_of(**api)

    async def run() -> str:
        async with client_of(connection) as client:
            place = namespace or connection.namespace
            cluster = await client.get(RAYCLUSTERS, name, place)
            chosen, patch = patch_of(cluster, group, replicas)
            await client.patch(RAYCLUSTERS, name, place, patch, kind="json")
            return f"raycluster.ray.io/{name} scaled: group {chosen} to {replicas}"

    click.echo(asyncio.run(run()))


def patch_of(cluster: dict[str, Any], group: str | None, replicas: int) -> tuple[str, list[dict[str, Any]]]:
    """(the group's name, a JSON patch). Raises Failure.

    Groups are patched by index: the test refuses a list that was reordered meanwhile.
    """
    groups = (cluster.get("spec") or {}).get("workerGroupSpecs") or []
    names = [str(each.get("groupName")) for each in groups]
    if group is None:
        if len(names) != 1:
            raise Failure(f"which group? write --group with one of: {', '.join(names)}" if names else "the cluster has no worker group")
        group = names[0]
    if group not in names:
        raise Failure(f"the cluster has no worker group {group}; it has: {', '.join(names) or 'none'}")
    index = names.index(group)
    least, most = groups[index].get("minReplicas", 0), groups[index].get("maxReplicas")
    if replicas < least or (most is not None and replicas > most):
        raise Failure(f"group {group} may have {least} to {most} replicas (minReplicas, maxReplicas); change these first, with apply")
    path = f"/spec/workerGroupSpecs/{index}"
    test = {"op": "test", "path": f"{path}/groupName", "value": group}
    return group, [test, {"op": "add", "path": f"{path}/replicas", "value": replicas}]
