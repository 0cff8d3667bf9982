"""`rayfleet rollout`: how far a RayService's change of clusters has come, and how to hold it, let it go on, and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import Command, api_options, client_of, connection_of, namespace_option

if TYPE_CHECKING:
    from rayfleet.kube.client import Client

Act = Callable[["Client", str, str, dict[str, Any]], Awaitable[str]]
KINDS = ("", "rayservice", "rayservices", "rayservice.ray.io", "rayservices.ray.io")


@click.group()
def command() -> None:
    """Show, hold, let go on or take back the change of a RayService's cluster.

    \b
    Examples:
      rayfleet rollout status rayservice/shop
      rayfleet rollout pause shop
      rayfleet rollout undo shop
    """


def on_service(act: Act, name: str, told: str) -> Command:
    """A subcommand that does something about one RayService."""

    @command.command(name, help=f"{told}\n\n\b\nExample:\n  rayfleet rollout {name} rayservice/shop")
    @click.argument("target", metavar="rayservice/NAME")
    @namespace_option
    @api_options
    def run(target: str, namespace: str | None, **api: Any) -> None:
        from rayfleet.api.meta import RAYSERVICES

        kind, _, service = target.rpartition("/")
        if kind.lower() not in KINDS:
            raise click.UsageError(f"only RayServices are rolled out; write rayservice/NAME instead of {target}")
        connection = connection_of(**api)

        async def go() -> str:
            async with client_of(connection) as client:
                place = namespace or connection.namespace
                return await act(client, service, place, await client.get(RAYSERVICES, service, place))

        click.echo(asyncio.run(go()))

    return run


async def status(client: Client, name: str, place: str, service: dict[str, Any]) -> str:
    """A tree: the service, its clusters with their share of the traffic, their applications and deployments."""
    said = service.get("status") or {}
    conditions = {each["type"]: each for each in said.get("conditions") or ()}
    lines = [f"rayservice/{name}"]
    lines += [f"  {kind}: {told(conditions[kind])}" for kind in ("Ready", "UpgradeInProgress") if kind in conditions]
    if is_paused(service):
        lines.append("  paused: no cluster is made, and no traffic moved")
    for field, word in (("activeServiceStatus", "takes the traffic"), ("pendingServiceStatus", "is to take it")):
        part = said.get(field) or {}
        if part.get("rayClusterName"):
            lines.append(f"  raycluster/{part['rayClusterName']} {word}")
            lines += applications(part.get("applicationStatuses") or {})
    return "\n".join(lines)


def told(condition: dict[str, Any]) -> str:
    return f"{condition['status']} ({condition['reason']})" + (f": {condition['message']}" if condition.get("message") else "")


def applications(found: dict[str, Any]) -> list[str]:
    lines = []
    for name, each in sorted(found.items()):
        lines.append(f"    application {name}: {each.get('status')}")
        parts = sorted((each.get("serveDeploymentStatuses") or {}).items())
        lines += [f"      deployment {part}: {state.get('status')}" for part, state in parts]
    return lines


def is_paused(service: dict[str, Any]) -> bool:
    from rayfleet.api.labels import PAUSED

    return (service["metadata"].get("annotations") or {}).get(PAUSED) == "true"


async def pause(client: Client, name: str, place: str, service: dict[str, Any]) -> str:
    return await annotated(client, name, place, "true", "paused")


async def resume(client: Client, name: str, place: str, service: dict[str, Any]) -> str:
    return await annotated(client, name, place, None, "resumed")


async def annotated(client: Client, name: str, place: str, value: str | None, done: str) -> str:
    from rayfleet.api.labels import PAUSED
    from rayfleet.api.meta import RAYSERVICES

    await client.patch(RAYSERVICES, name, place, {"metadata": {"annotations": {PAUSED: value}}})
    return f"rayservice.ray.io/{name} {done}"


async def undo(client: Client, name: str, place: str, service: dict[str, Any]) -> str:
    """Raises Failure when no cluster serves. The counts that an autoscaler wrote come along: they are those of now."""
    from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES

    active = ((service.get("status") or {}).get("activeServiceStatus") or {}).get("rayClusterName")
    if not active:
        raise Failure(f"no cluster of rayservice/{name} takes traffic: there is nothing to go back to")
    cluster = await client.get(RAYCLUSTERS, active, place)
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": service["metadata"]["resourceVersion"]}
    write = {"op": "replace", "path": "/spec/rayClusterConfig", "value": cluster["spec"]}
    await client.patch(RAYSERVICES, name, place, [test, write], kind="json")
    return f"rayservice.ray.io/{name} has the spec of raycluster/{active} again"


on_service(status, "status", "Its clusters, applications and deployments, and what is waited for.")
on_service(pause, "pause", "Make no cluster and move no traffic, until it is resumed. What serves goes on.")
on_service(resume, "resume", "Go on with what was paused.")
on_service(undo, "undo", "Write the spec of the cluster that takes the traffic back into the RayService.")
