"""`rayfleet explain`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.api.meta import RAYCLUSTERS, Resource
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option
from rayfleet.cli.output import dump_json, dump_yaml
from rayfleet.cli.ray_kinds import RAY_KINDS, RAY_WORDS

if TYPE_CHECKING:
    from rayfleet.diagnosis.finding import Diagnosis, Finding
    from rayfleet.kube.client import Client

COLOURS = dict.fromkeys(("ready", "suspended", "running", "succeeded", "stopped"), "green")
COLOURS |= dict.fromkeys(("starting", "deleting", "waiting", "retrying"), "yellow")
WRITTEN = [f"{each.kind.lower()}/NAME" for each in RAY_KINDS.values()]
PODS_NAMED = 3


@click.command()
@click.argument("target", metavar="NAME | KIND/NAME")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Instead of text.")
@namespace_option
@api_options
def command(target: str, output: str | None, namespace: str | None, **api: Any) -> None:
    """Say why a RayCluster, RayService, RayJob or RayCronJob is in the state it is in, and what to try next.

    From its conditions to its clusters, their Pods, their Events and the line of the log. Reads, and changes nothing. A NAME alone is that
    of a RayCluster.
    Ends with 0 when nothing is wrong, with 1 otherwise.

    \b
    Examples:
      rayfleet explain one
      rayfleet explain rayservice/shop
      rayfleet explain rayjob/train -n team -o json
    """
    kind, name = meant(target)
    connection = connection_of(**api)

    async def run() -> Diagnosis:
        async with client_of(connection) as client:
            return await explained(client, kind, namespace or connection.namespace, name)

    found = asyncio.run(run())
    if output:
        import msgspec

        value = msgspec.to_builtins(found) | {"healthy": found.healthy}
        click.echo(dump_json(value) if output == "json" else dump_yaml(value), nl=output == "json")
    else:
        show(found)
    if not found.healthy:
        raise click.exceptions.Exit(1)


def meant(target: str) -> tuple[Resource, str]:
    word, slash, name = target.rpartition("/")
    kind = RAY_WORDS.get(word.lower()) if slash else RAYCLUSTERS
    if kind is None or not name:
        raise click.UsageError(f"{target!r} is not explained here; write a RayCluster's NAME or one of {', '.join(WRITTEN)}")
    return kind, name


async def explained(client: Client, kind: Resource, namespace: str, name: str) -> Diagnosis:
    """Raises Failure, with names that are near, when there is no such object."""
    from rayfleet.cli import makers
    from rayfleet.cli.near import absent
    from rayfleet.cli.situation import read_situation
    from rayfleet.diagnosis.diagnose import diagnose
    from rayfleet.kube.errors import NotFound

    try:
        if kind != RAYCLUSTERS:
            return await makers.explained(client, kind, namespace, name)
        return diagnose(await read_situation(client, namespace, name))
    except NotFound as error:
        raise await absent(client, kind, namespace, name) from error


def show(found: Diagnosis) -> None:
    colour = COLOURS.get(found.state, "red") if found.healthy else "red"
    state = click.style(found.state, fg=colour, bold=True)
    click.echo(f"{found.kind} {found.namespace}/{found.name}: {state}; {found.summary}")
    for finding in found.findings:
        click.echo()
        show_finding(finding)
    if found.healthy:
        click.echo("Nothing is wrong with it.")
    if found.notes:
        click.echo()
    for note in found.notes:
        click.echo(f"  note       {note}")


def show_finding(finding: Finding) -> None:
    click.echo(f"{click.style(finding.seen, bold=True)} [{finding.problem}]")
    more = len(finding.where) - PODS_NAMED
    named = ", ".join(finding.where[:PODS_NAMED]) + (f" and {more} more" if more > 0 else "")
    click.echo(f"  where      {named}")
    for step in finding.why:
        click.echo(f"  {click.style(step.source.ljust(10), fg='cyan')} {step.says}")
    for number, line in enumerate(finding.advice):
        click.echo(f"  {click.style('try'.ljust(10), fg='green') if not number else ' ' * 10} {line}")
