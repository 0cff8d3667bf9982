"""`rayfleet migrate`: live RayClusters from KubeRay to rayfleet, and back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.diff import NOTHING, SOMETHING, TROUBLE, troubled
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option
from rayfleet.cli.output import FORMS, output_option

if TYPE_CHECKING:
    from rayfleet.cli.options import Command


def scope_options(command: Command) -> Command:
    command = output_option(command)
    command = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")(command)
    return api_options(namespace_option(command))


@click.group()
def command() -> None:
    """Move live RayClusters from KubeRay to rayfleet, and back, with no Pod recreated.

    \b
    Examples:
      rayfleet migrate check -A
      rayfleet migrate plan -A
    """


@command.command()
@scope_options
@configuration_options
def check(namespace: str | None, everywhere: bool, output: str, file: str | None, gates: str, **api: Any) -> int:
    """Print what would change if rayfleet took over the RayClusters that are there. It must be nothing.

    Give it the configuration that the operator is to have. The API server is read, never written. Exit code: 0 nothing would change,
    1 something would, 2 not all could be seen.

    \b
    Examples:
      rayfleet migrate check -A && rayfleet migrate plan -A
      rayfleet migrate check -n team-a --feature-gates RayClusterMTLS=true -o json
    """
    from rayfleet.cli.takeover import lines_of, surveyed

    configuration = configuration_of(file, gates, os.environ)
    connection = connection_of(**api)
    place = place_of(namespace, everywhere, connection.namespace)

    async def run() -> dict[str, Any]:
        async with client_of(connection) as client:
            return await surveyed(client, place, configuration)

    with troubled():
        report = asyncio.run(run())
    show(report, output, lines_of(report))
    if report["unattended"] or any(case["changes"] for case in report["clusters"]):
        return SOMETHING
    return TROUBLE if report["unseen"] else NOTHING


@command.command()
@scope_options
def plan(namespace: str | None, everywhere: bool, output: str, **api: Any) -> None:
    """Print the steps for an administrator, with the names that this Kubernetes cluster shows. Nothing is carried out.

    \b
    Examples:
      rayfleet migrate plan -A
      rayfleet migrate plan -n team-a -o yaml
    """
    from rayfleet.cli.takeover_steps import deployments, lines_of, steps

    connection = connection_of(**api)
    place = place_of(namespace, everywhere, connection.namespace)

    async def run() -> list[dict[str, Any]]:
        async with client_of(connection) as client:
            return steps(await deployments(client), place)

    found = asyncio.run(run())
    show(found, output, lines_of(found))


def place_of(namespace: str | None, everywhere: bool, usual: str) -> str | None:
    """None: all namespaces. Raises UsageError."""
    if everywhere and namespace:
        raise click.UsageError("-n and -A exclude each other")
    return None if everywhere else namespace or usual


def show(value: Any, output: str, lines: Iterable[str]) -> None:
    click.echo(FORMS[output](value) if output in FORMS else "\n".join(lines))
