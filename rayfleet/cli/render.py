"""`rayfleet render`."""

from __future__ import annotations

import os
from typing import Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.failure import Failure
from rayfleet.cli.options import files_option
from rayfleet.cli.output import dump_json, dump_yaml


@click.command()
@files_option
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NAME", help="For objects that name no namespace.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@configuration_options
def command(files: tuple[str, ...], namespace: str, output: str, file: str | None, gates: str) -> None:
    """Print every object that the operator would create, as it would be sent, if all went well. Needs no API server.

    UIDs are made up from namespace and name, so that the output of the same file is the same.

    \b
    Example:
      rayfleet render -f examples/two-clusters.yaml
    """
    from rayfleet.sim.ideal import Refused, render

    try:
        created = render(clusters_of(files, namespace, ("RayCluster", "RayJob")), configuration_of(file, gates, os.environ))
    except Refused as refusal:
        if output == "json":
            click.echo("[]")
        raise Failure(f"refused:\n{refusal}") from refusal
    if output == "json":
        click.echo(dump_json({"apiVersion": "v1", "kind": "List", "items": created}))
    else:
        click.echo("---\n".join(dump_yaml(each) for each in created), nl=False)


def clusters_of(files: tuple[str, ...], namespace: str, kinds: tuple[str, ...] = ("RayCluster",)) -> list[dict[str, Any]]:
    """The RayClusters of files, or objects of other kinds too, each with a namespace. Raises Failure when there is none, BadManifest."""
    from rayfleet.cli.manifests import load_manifests

    found = [each.sendable() for each in load_manifests(files) if each.kind in kinds]
    if not found:
        raise Failure(f"no {' or '.join(kinds)} in {', '.join(files)}")
    return [each | {"metadata": {"namespace": namespace} | each["metadata"]} for each in found]
