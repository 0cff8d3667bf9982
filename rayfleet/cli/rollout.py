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
    """How far the change is: the two clusters' share of the traffic, and what the new one still lacks."""
    from rayfleet.cli.service import is_paused, share_told, shares, standing

    conditions = [dict(each) for each in (service.get("status") or {}).get("conditions") or ()]
    lines = [f"rayservice/{name}", *(f"  {line}" for line in standing(conditions, is_paused(service)))]
    for each in shares(service):
        lines.append(f"  {share_told(each)}")
        if each["role"] == "pending":
            lines += [f"    waits for application {part['name']}: {part['status']}" for part in each["applications"] if lags(part)]
    return "\n".join(lines)


def lags(application: dict[str, Any]) -> bool:
    return bool(application["status"] != "RUNNING")


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


on_service(status, "status", "How far a change of its cluster has come, and what is waited for.")
on_service(pause, "pause", "Make no cluster and move no traffic, until it is resumed. What serves goes on.")
on_service(resume, "resume", "Go on with what was paused.")
on_service(undo, "undo", "Write the spec of the cluster that takes the traffic back into the RayService.")
