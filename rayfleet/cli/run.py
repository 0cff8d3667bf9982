"""`rayfleet run`: the operator."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_options, effective
from rayfleet.cli.settings import ADDRESS, DISCOVERED, SETTINGS, TRUTH, is_address

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.api.meta import Resource
    from rayfleet.cli.options import Command
    from rayfleet.kube.connection import Connection
    from rayfleet.runtime.manager import ManagerSettings

ZAP = ("--zap-devel", "--zap-encoder", "--zap-stacktrace-level", "--zap-time-encoding", "--forced-cluster-upgrade")
ZAP_LEVELS = {"debug": "debug", "info": "info", "error": "error", "panic": "error"}


def setting_options(command: Command) -> Command:
    """A flag for each setting that has one; a truth may stand alone, as `--enable-metrics`."""
    for setting in reversed([each for each in SETTINGS if each.flags]):
        alone: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if setting.form is TRUTH else {}
        told = f"{setting.told} ({setting.unused})" if setting.unused else setting.told
        command = click.option(*setting.flags, setting.field, metavar=setting.form.metavar, help=told, **alone)(command)
    return command


def old_options(command: Command) -> Command:
    """Flags of KubeRay that change nothing here: accepted, so that its command lines go on working."""
    for name in ZAP:
        command = click.option(name, name.strip("-").replace("-", "_"), is_flag=False, flag_value="true", hidden=True)(command)
    return click.option("--zap-log-level", metavar="LEVEL", hidden=True)(command)


@click.command()
@click.option(
    "--kubeconfig", metavar="FILE", help="A kubeconfig [default: in a Pod its service account, else $KUBECONFIG, ~/.kube/config]."
)
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@configuration_options
@setting_options
@old_options
@click.option("--no-leader-election", is_flag=True, help="The same as --enable-leader-election=false.")
@click.option("--listen", metavar="HOST:PORT", help="Serve metrics and probes there: both addresses in one.")
@click.option("--show-config", is_flag=True, help="Print the configuration that counts, where each value came from, and stop.")
@click.option("-o", "--output", type=click.Choice(["table", "yaml", "json"]), default="table", help="For --show-config.")
def command(file: str | None, gates: str, **given: Any) -> None:
    """Run the operator, until SIGTERM: against the API server of a kubeconfig, or, in a Pod, of its cluster.

    A flag counts before the environment (KubeRay's variables), the environment before the file, the file before defaults.

    \b
    Examples:
      rayfleet run --kubeconfig ~/.kube/config
      rayfleet run --config operator.yaml --feature-gates RayCronJob=true --listen 0.0.0.0:8080
      rayfleet run --config operator.yaml --show-config
    """
    found = effective(file, gates, flags_of(given), os.environ)
    if given["show_config"]:
        from rayfleet.cli.show_config import shown

        click.echo(shown(found, given["output"]), nl=False)
        return
    known = {field for field, name in DISCOVERED.items() if name in found.origins}
    operate(found.configuration, connection_for(given["kubeconfig"], given["context"]), known)


def flags_of(given: dict[str, Any]) -> dict[str, str]:
    """Texts by field of the configuration, from what was given on the command line."""
    flags = {setting.field: given[setting.field] for setting in SETTINGS if given.get(setting.field) is not None}
    if given["listen"] is not None:
        if not is_address(given["listen"]):
            raise click.BadParameter(f"{given['listen']!r}; it must be {ADDRESS.allowed}", param_hint="--listen")
        flags = {"metrics_addr": given["listen"], "probe_addr": given["listen"]} | flags
    if given["no_leader_election"]:
        flags["enable_leader_election"] = "false"
    if given["zap_log_level"]:
        flags.setdefault("log_level", ZAP_LEVELS.get(given["zap_log_level"], "debug"))
    return flags


def operate(configuration: Configuration, connection: Connection, known: Collection[str]) -> None:
    """`known` are the fields that are not asked of the API server."""
    from rayfleet.runtime.logs import setup

    setup(configuration.log_stdout_encoder, configuration.log_level, file=configuration.log_file, file_form=configuration.log_file_encoder)

    asyncio.run(run(configuration, connection, known))


async def run(configuration: Configuration, connection: Connection, known: Collection[str]) -> None:
    """Until a signal."""
    from msgspec.structs import replace

    from rayfleet.api.meta import OLD_RAYCLUSTERS, ROUTES
    from rayfleet.cli.discovery import keeps_cron_job_generation, serves

    asked = {"has_routes": ROUTES, "has_old_clusters": OLD_RAYCLUSTERS}
    found = {field: await serves(connection, resource) for field, resource in asked.items() if field not in known}
    if configuration.gate("RayCronJob") and "has_cron_job_generation" not in known:
        found["has_cron_job_generation"] = await keeps_cron_job_generation(connection)
    whole = replace(configuration, **found)
    is_expected = not found.get("has_old_clusters", True)
    if await look_after(whole, connection, expected=OLD_RAYCLUSTERS if is_expected else None):
        await look_after(replace(whole, has_old_clusters=True), connection)


async def look_after(configuration: Configuration, connection: Connection, *, expected: Resource | None = None) -> bool:
    """Until a signal; or until the API server serves the resource that is expected: then True, and all begins anew with it."""
    from rayfleet.cli.dashboards import dashboards
    from rayfleet.cli.discovery import until_served
    from rayfleet.cli.scaler import scaler
    from rayfleet.controllers import kinds_of
    from rayfleet.runtime.manager import Manager

    async with dashboards(configuration, connection) as pool, scaler(connection) as sizes:
        manager = Manager(connection, kinds_of(configuration, pool, sizes), settings_of(configuration, connection))
        coming = asyncio.create_task(until_served(connection, expected, everywhere=not configuration.namespaces))
        coming.add_done_callback(lambda _: manager.stop())
        try:
            await manager.run(signals=True)
        finally:
            coming.cancel()
            await asyncio.wait([coming])
        if coming.cancelled():
            return False
        coming.result()
        return True


def settings_of(configuration: Configuration, connection: Connection) -> ManagerSettings:
    from rayfleet.runtime.lease import LeaseSettings
    from rayfleet.runtime.manager import ManagerSettings

    identity = f"{os.uname().nodename}_{os.getpid()}"
    place = configuration.leader_election_namespace or os.environ.get("POD_NAMESPACE") or connection.namespace
    metrics, probes = address_of(configuration.metrics_addr), address_of(configuration.probe_addr)
    lease = LeaseSettings(namespace=place, identity=identity, watched=configuration.namespaces)
    return ManagerSettings(
        namespaces=configuration.namespaces,
        workers=configuration.reconcile_concurrency,
        lease=lease if configuration.enable_leader_election else None,
        health=metrics,
        probes=None if probes == metrics else probes,
        identity=identity,
        user_agent="rayfleet-operator",
    )


def connection_for(kubeconfig: str | None, context: str | None) -> Connection:
    """In a Pod its service account, unless a kubeconfig is named. Raises ConfigError."""
    from rayfleet.kube.connection import in_cluster, load_kubeconfig

    if not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
        return in_cluster()
    return load_kubeconfig(kubeconfig, context)


def address_of(text: str) -> tuple[str, int] | None:
    """None: nothing is to be served. Without a host: on all interfaces."""
    if text in ("", "0"):
        return None
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "0.0.0.0", int(port)
