"""`rayfleet status`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.options import api_options, client_of, closed_fleet, connection_of, no_fleet, state_of
from rayfleet.cli.output import columns, dump_json, dump_yaml

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State


@click.command()
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Instead of tables.")
@api_options
def command(output: str | None, **api: Any) -> None:
    """Show the clusters with their dashboards, and how the local fleet's processes are.

    \b
    Example:
      rayfleet status
    """
    from rayfleet.kube.connection import ConfigError
    from rayfleet.kube.errors import ApiError

    place = state_of(api["state"])
    processes = peers(place)
    clusters: list[dict[str, Any]] = []
    problem = ""
    try:
        connection = connection_of(**api)

        async def run() -> list[dict[str, Any]]:
            async with client_of(connection) as client:
                return await rows(client, place)

        clusters = asyncio.run(run())
    except (ApiError, ConfigError) as error:
        problem = str(error)
    if output:
        value = {"clusters": clusters, "processes": processes} | ({"problem": problem} if problem else {})
        click.echo(dump_json(value) if output == "json" else dump_yaml(value), nl=output == "json")
    else:
        show(place, clusters, processes, problem)
    if problem:
        raise click.exceptions.Exit(1)


def show(place: State, clusters: list[dict[str, Any]], processes: list[dict[str, Any]], problem: str) -> None:
    if clusters:
        click.echo(columns(list(clusters[0]), [list(each.values()) for each in clusters]))
    elif problem and (processes or not problem.startswith(no_fleet(place))):
        click.echo(f"The clusters cannot be read: {problem}", err=True)
    elif not problem:
        click.echo("No cluster yet; apply one with: rayfleet apply -f examples/two-clusters.yaml")
    click.echo()
    if processes:
        click.echo(columns(list(processes[0]), [list(each.values()) for each in processes]))
        closed = closed_fleet(place)
        if closed and closed != problem:
            click.echo(f"\nT{closed[1:]}")
    else:
        click.echo(f"N{no_fleet(place)[1:]}")


async def rows(client: Client, place: State) -> list[dict[str, Any]]:
    """One row a cluster, of all namespaces."""
    from rayfleet.api.meta import RAYCLUSTERS
    from rayfleet.cli.dashboard import address_of
    from rayfleet.cli.standing import standing

    found = []
    for cluster in sorted(await client.list(RAYCLUSTERS), key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"])):
        how = standing(cluster, [])
        status = cluster.get("status") or {}
        found.append(
            {
                "namespace": cluster["metadata"]["namespace"],
                "name": how.name,
                "state": how.state,
                "head": (status.get("head") or {}).get("podName") or "-",
                "workers": how.workers,
                "cpus": status.get("desiredCPU", ""),
                "memory": status.get("desiredMemory", ""),
                "dashboard": address_of(place, cluster) or "-",
                "serve": address_of(place, cluster, "serve") or "-",
                "note": how.note,
            }
        )
    return found


def peers(place: State) -> list[dict[str, Any]]:
    """The local fleet's own processes; nothing when no fleet runs."""
    from rayfleet.local.door import load_record as door_record
    from rayfleet.local.find import find_holder
    from rayfleet.local.peers import PEERS, load_record

    holder = find_holder(place)
    if holder is None:
        return []
    door = door_record(place)
    known = [("holder", holder, 1), ("door", door.process if door else None, 1)]
    for name in PEERS:
        record = load_record(place, name)
        known.append((name, record.process if record else None, record.starts if record else 0))
    return [
        {"process": name, "state": "alive", "pid": process.pid, "starts": starts}
        if process and process.alive
        else {"process": name, "state": "dead", "pid": "-", "starts": starts}
        for name, process, starts in known
    ]
