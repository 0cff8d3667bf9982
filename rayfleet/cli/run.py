"""`rayfleet run`: the operator."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options

if TYPE_CHECKING:
    from rayfleet.kube.connection import Connection


@click.command()
@click.option(
    "--kubeconfig", metavar="FILE", help="A kubeconfig [default: in a Pod its service account, else $KUBECONFIG, ~/.kube/config]."
)
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@configuration_options
@click.option("--watch-namespace", metavar="NAME", help="Look after this namespace only [default: all].")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many clusters at once [default: 16].")
@click.option("--leader-election/--no-leader-election", default=True, show_default=True, help="Of several operators one writes.")
@click.option("--leader-election-namespace", metavar="NAME", help="Where the lease is [default: the operator's own namespace].")
@click.option("--listen", metavar="HOST:PORT", help="Serve /healthz, /readyz and /metrics there, for example 0.0.0.0:8080.")
@click.option(
    "--log-format", type=click.Choice(["auto", "json", "console"]), default="auto", show_default=True, help="Auto: JSON but on a terminal."
)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True, help="From which level on."
)
def command(file: str | None, gates: str, **given: Any) -> None:
    """Run the operator, until SIGTERM: against the API server of a kubeconfig, or, in a Pod, of its cluster.

    \b
    Examples:
      rayfleet run --kubeconfig ~/.kube/config
      rayfleet run --config operator.yaml --feature-gates RayCronJob=true --listen 0.0.0.0:8080
    """
    from rayfleet.cli.controllers import kinds_of
    from rayfleet.runtime.lease import LeaseSettings
    from rayfleet.runtime.logs import setup
    from rayfleet.runtime.manager import Manager, ManagerSettings

    configuration = configuration_of(file, gates, os.environ)
    setup(given["log_format"], given["log_level"])
    connection = connection_for(given["kubeconfig"], given["context"])
    identity = f"{os.uname().nodename}_{os.getpid()}"
    place = given["leader_election_namespace"] or os.environ.get("POD_NAMESPACE") or connection.namespace
    settings = ManagerSettings(
        namespace=given["watch_namespace"] or configuration.watch_namespace or None,
        workers=given["workers"] or configuration.reconcile_concurrency,
        lease=LeaseSettings(namespace=place, identity=identity) if given["leader_election"] else None,
        health=address_of(given["listen"]) if given["listen"] else None,
        identity=identity,
        user_agent="rayfleet-operator",
    )

    async def run() -> None:
        await Manager(connection, kinds_of(configuration), settings).run(signals=True)

    asyncio.run(run())


def connection_for(kubeconfig: str | None, context: str | None) -> Connection:
    """In a Pod its service account, unless a kubeconfig is named. Raises ConfigError."""
    from rayfleet.kube.connection import in_cluster, load_kubeconfig

    if not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
        return in_cluster()
    return load_kubeconfig(kubeconfig, context)


def address_of(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        raise click.BadParameter(f"{text!r} is no HOST:PORT, for example 127.0.0.1:8080", param_hint="--listen")
    return host or "0.0.0.0", int(port)
