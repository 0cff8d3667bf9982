"""`rayfleet plan`."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.live import Case, as_applied, discovered
from rayfleet.cli.options import api_options, client_of, connection_of, files_option, namespace_option

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration


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

        async def run() -> tuple[Configuration, list[Case]]:
            async with client_of(connection) as client:
                cases = [await as_applied(client, each) for each in clusters_of(files, namespace or connection.namespace)]
                return await discovered(client, configuration), cases

        configuration, cases = asyncio.run(run())
    else:
        cases = [Case(each) for each in clusters_of(files, namespace or "default")]
    for case in cases:
        lines = plan_told(next_steps(case.wanted, configuration, time.time(), case.children))
        click.echo(f"raycluster {case.title}")
        click.echo("\n".join(f"  {line}" for line in lines or ["nothing to do"]))
