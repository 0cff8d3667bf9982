"""`rayfleet crds`."""

from __future__ import annotations

import click

from rayfleet.cli.output import dump_json, dump_yaml


@click.command()
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(output: str) -> None:
    """Print the CustomResourceDefinitions of the four kinds.

    \b
    Example:
      rayfleet crds | kubectl apply -f -
    """
    from rayfleet.api.crds import crds

    if output == "json":
        click.echo(dump_json({"apiVersion": "v1", "kind": "List", "items": list(crds())}))
    else:
        click.echo("---\n".join(dump_yaml(crd) for crd in crds()), nl=False)
