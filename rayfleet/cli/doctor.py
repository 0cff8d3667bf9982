"""`rayfleet doctor`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from rayfleet.cli.check import MISSING, OFF, OK, UNKNOWN, Row
from rayfleet.cli.options import api_options, client_of, connection_of, state_of
from rayfleet.cli.output import columns, dump_json, dump_yaml

HOME = "rayfleet-system"
COLOURS = {OK: "green", OFF: "yellow", MISSING: "red", UNKNOWN: "yellow"}


@click.command()
@click.option("--cluster", is_flag=True, help="Of a Kubernetes cluster, not of this machine.")
@click.option("--as", "user", metavar="USER", help="With --cluster: ask for this user's rights, for example the operator's account.")
@click.option("-n", "--namespace", metavar="NAME", help="With --cluster: the one namespace to look after [default: all].")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Instead of a table.")
@api_options
def command(cluster: bool, user: str | None, namespace: str | None, output: str | None, **api: Any) -> None:
    """Tell what is there, what is missing, and which features are off because of it.

    Of this machine: what `rayfleet up` needs. With --cluster: what an API server has, and what the operator may do there (as the
    kubeconfig's user, or as another with --as). Ends with 1 only when something is missing without which nothing works.

    \b
    Examples:
      rayfleet doctor
      rayfleet doctor --cluster
      rayfleet doctor --cluster --as system:serviceaccount:rayfleet-system:rayfleet
    """
    from rayfleet.cli.machine import of_machine

    if (user or namespace) and not cluster:
        raise click.UsageError("--as and -n go with --cluster")
    found = of_cluster(user, namespace, api) if cluster else list(of_machine(state_of(api["state"])))
    if output:
        value = {"healthy": all(row.state != MISSING for row in found), "checks": [row._asdict() for row in found]}
        click.echo(dump_json(value) if output == "json" else dump_yaml(value), nl=output == "json")
    else:
        show(found)
    if any(row.state == MISSING for row in found):
        raise click.exceptions.Exit(1)


def show(found: list[Row]) -> None:
    """Colours come after the columns are laid out; click leaves them away where there is no terminal."""
    header, *lines = columns(Row._fields, found).splitlines()
    click.echo(header)
    for line, row in zip(lines, found, strict=True):
        click.echo(click.style(line, fg=COLOURS[row.state]) if row.state != OK else line)


def of_cluster(user: str | None, namespace: str | None, api: dict[str, Any]) -> list[Row]:
    from rayfleet.cli.checkup import rows
    from rayfleet.cli.cluster_facts import ACCOUNT, read_facts

    home = user.split(":")[2] if user and user.startswith(ACCOUNT) and user.count(":") >= 3 else namespace or HOME

    async def run() -> list[Row]:
        async with client_of(connection_of(**api)) as client:
            return rows(await read_facts(client, user, namespace, home))

    return asyncio.run(run())
