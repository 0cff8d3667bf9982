"""`rayfleet render`."""

from __future__ import annotations

import os

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.failure import Failure
from rayfleet.cli.live import objects_of
from rayfleet.cli.options import files_option, now_option
from rayfleet.cli.output import dump_json, dump_yaml


@click.command()
@files_option
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NAME", help="For objects that name no namespace.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@now_option
@configuration_options
def command(files: tuple[str, ...], namespace: str, output: str, now: float, file: str | None, gates: str) -> None:
    """Print every object that the operator would create, as it would be sent, if all went well. Needs no API server.

    Of a RayService that is its first cluster with its Pods and Services, of a RayCronJob the job that is due next. UIDs are made up from
    namespace and name, so that the output of the same file is the same.

    \b
    Examples:
      rayfleet render -f examples/two-clusters.yaml
      rayfleet render -f nightly.yaml --now 2026-12-24T00:00:00Z
    """
    from rayfleet.sim.ideal import Refused, render

    try:
        created = render(objects_of(files, namespace), configuration_of(file, gates, os.environ), now)
    except Refused as refusal:
        if output == "json":
            click.echo("[]")
        raise Failure(f"refused:\n{refusal}") from refusal
    if output == "json":
        click.echo(dump_json({"apiVersion": "v1", "kind": "List", "items": created}))
    else:
        click.echo("---\n".join(dump_yaml(each) for each in created), nl=False)
