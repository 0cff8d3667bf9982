"""`rayfleet up`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import state_of, state_option, words_for

if TYPE_CHECKING:
    from rayfleet.cli.manifests import Manifest
    from rayfleet.cli.progress import Wanted
    from rayfleet.kube.client import Client
    from rayfleet.local.configuration import Configuration
    from rayfleet.local.state import State


@click.command()
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Apply this YAML or JSON file, and wait for what of Ray is in it."
)
@click.option("--foreground", is_flag=True, help="Stay, show the operator's log, and stop the fleet on Ctrl-C.")
@click.option(
    "--auth",
    type=click.Choice(["token", "disabled"]),
    help="What clusters without authOptions get, of a fleet that is started now.  [default: token]",
)
@click.option(
    "--config",
    "file",
    metavar="FILE",
    help="Images, directories and ports, instead of ~/.config/rayfleet/local.yaml; for this fleet until another file is named.",
)
@click.option("--egress", is_flag=True, help="Let Pods out: to the ports 22, 80 and 443, or those of the configuration.")
@click.option("--nodes", type=click.IntRange(1, 20), help="How many nodes this machine is, of a fleet that is started now.")
@click.option("--patience", type=click.FloatRange(0.001, 1.0), help="Shortens the 40 s and 300 s of node loss, for tests.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for what the files hold.",
)
@state_option
def command(
    files: tuple[str, ...],
    foreground: bool,
    auth: str | None,
    file: str | None,
    egress: bool,
    nodes: int | None,
    patience: float | None,
    timeout: float,
    state: str | None,
) -> None:
    """Start the local fleet: Ray clusters on this machine, without Kubernetes.

    May be called again at any time: what runs is left alone, what is missing is started. What of Ray the files hold is waited for: until
    clusters and services are ready, and jobs run or have ended. Ends with 1 when something is refused, fails or is not ready in time.

    \b
    Examples:
      rayfleet up
      rayfleet up -f examples/two-clusters.yaml
      rayfleet up --foreground
      rayfleet up --config local.yaml      # images: {"rayproject/ray:2.9*": auto}
      rayfleet up --nodes 3
    """
    from rayfleet.cli.manifests import load_manifests
    from rayfleet.local.configuration import default_file, load_configuration
    from rayfleet.local.machine import Machine
    from rayfleet.local.start import start

    place = state_of(state)
    manifests = load_manifests(files)  # a mistake in a file is told before anything is started
    named = str(Path(file).absolute()) if file else place.configuration.read_text() if place.configuration.exists() else ""
    configuration = load_configuration(Path(named) if named else default_file(os.environ), must_exist=bool(named))
    machine = Machine(nodes or 1, patience or 1.0, configuration.overcommit, configuration.devices)
    start(place, click.echo, auth=auth or "token", configuration=configuration, egress=egress, machine=machine)
    if file:
        place.write(place.configuration, named)
    tell_unheeded(place, {"--auth": auth, "--nodes": nodes, "--patience": patience}, configuration)
    try:
        failures = asyncio.run(fill(place, manifests, timeout))
        told_where(place)
        if foreground:
            stay(place)
    except KeyboardInterrupt:
        if not foreground:
            click.echo(f"\nInterrupted. The fleet goes on; stop it with: rayfleet down{words_for(place)}", err=True)
        raise
    finally:
        if foreground:
            from rayfleet.local.end import end

            end(place)
            click.echo("The fleet is stopped.")
    if failures:
        raise Failure("\n".join(failures))


def tell_unheeded(place: State, asked: dict[str, Any], configuration: Configuration) -> None:
    """What was asked for and does not count, since the fleet was begun with something else."""
    from rayfleet.local.machine import load_machine

    machine = load_machine(place)
    auth = json.loads(place.operator_config.read_text()).get("defaultAuthMode", "disabled")
    has = {"--auth": auth, "--nodes": machine.nodes, "--patience": machine.patience}
    other = [f"{flag} {has[flag]}" for flag, value in asked.items() if value not in (None, has[flag])]
    if (machine.overcommit, machine.devices) != (configuration.overcommit, configuration.devices):
        other.append("another overcommit or other devices")
    if other:
        click.echo(f"Warning: the fleet runs already, with {', '.join(other)}; that changes when it is ended and begun again.", err=True)


async def fill(place: State, manifests: list[Manifest], patience: float) -> list[str]:
    """The kinds, then the files, then wait for their Ray objects. Returns what failed, as sentences."""
    from rayfleet.cli.apply import apply_all
    from rayfleet.cli.options import client_of
    from rayfleet.cli.progress import wait_ready
    from rayfleet.cli.ray_kinds import RAY_KINDS
    from rayfleet.kube.connection import load_kubeconfig
    from rayfleet.local.start import api_answers

    await api_answers(place, place.kubeconfig)
    connection = load_kubeconfig(place.kubeconfig)
    async with client_of(connection) as client:
        await declare(client)
        failures = await apply_all(client, manifests, None, connection.namespace)
        wanted = [wanted_of(each, connection.namespace) for each in manifests if each.kind in RAY_KINDS and each.name]
        return failures + await wait_ready(client, place, wanted, patience)


def wanted_of(manifest: Manifest, namespace: str) -> Wanted:
    """What is to be waited for."""
    from rayfleet.cli.progress import Wanted
    from rayfleet.cli.ray_kinds import RAY_KINDS

    kind, place = RAY_KINDS[manifest.kind], str(manifest.body["metadata"].get("namespace") or namespace)
    return Wanted(kind, place, manifest.name, not manifest.body["apiVersion"].startswith(f"{kind.group}/"))


async def declare(client: Client) -> None:
    """Create the CustomResourceDefinitions, or bring them up to date."""
    from rayfleet.api.crds import crds
    from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS
    from rayfleet.cli.merge import patch_for, remembered
    from rayfleet.kube.errors import AlreadyExists

    async def one(crd: dict[str, Any]) -> None:
        try:
            await client.create(CUSTOMRESOURCEDEFINITIONS, remembered(crd))
        except AlreadyExists:
            name = str(crd["metadata"]["name"])
            patch = patch_for(await client.get(CUSTOMRESOURCEDEFINITIONS, name), crd)
            if patch:
                await client.patch(CUSTOMRESOURCEDEFINITIONS, name, None, patch)

    async with asyncio.TaskGroup() as group:
        for crd in crds():
            group.create_task(one(crd))


def told_where(place: State) -> None:
    click.echo("\nTo use kubectl and other clients:")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(place.kubeconfig))}")


def stay(place: State) -> None:
    """Show the operator's log until interrupted (Ctrl-C, SIGTERM), or until the fleet has ended."""
    import signal

    from rayfleet.cli.story import readable
    from rayfleet.local.find import find_holder

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    click.echo("\nThe operator's log (Ctrl-C stops the fleet):")
    holder = find_holder(place)
    try:
        with place.log("operator").open(errors="replace") as log:
            while holder and not holder.wait(0.3):
                for line in log:
                    click.echo(readable(line))
    except KeyboardInterrupt:
        click.echo()
