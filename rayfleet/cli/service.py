"""`rayfleet service`: what a RayService serves, on which clusters, and where its traffic goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option, state_of
from rayfleet.cli.output import FORMS, output_option

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

Obj = dict[str, Any]
ROLES = (("activeServiceStatus", "active", 100), ("pendingServiceStatus", "pending", 0))
UNDER_WAY = ("UpgradeInProgress", "RollbackInProgress", "Suspending", "Suspended")
WORDS = {"active": "takes the traffic", "pending": "is to take it"}


@click.group()
def command() -> None:
    """Show what a RayService serves.

    \b
    Example:
      rayfleet service status shop
    """


@command.command()
@click.argument("name")
@output_option
@namespace_option
@api_options
def status(name: str, output: str, namespace: str | None, **api: Any) -> None:
    """Print a RayService's clusters, their share of the traffic, their applications, deployments and replicas, as a tree.

    Each cluster's Ray is asked; where it does not answer, what the RayService's status says last is shown, and that it is old.

    \b
    Examples:
      rayfleet service status shop
      rayfleet service status shop -n team -o json
    """
    from rayfleet.api.meta import RAYSERVICES
    from rayfleet.cli.near import find

    connection = connection_of(**api)

    async def run() -> Obj:
        async with client_of(connection) as client:
            found = await find(client, RAYSERVICES, namespace or connection.namespace, name)
            return await tree(client, state_of(api["state"]), found)

    found = asyncio.run(run())
    click.echo(FORMS[output](found) if output in FORMS else "\n".join(lines_of(found)))


async def tree(client: Client, state: State, service: Obj) -> Obj:
    """Raises ApiError when the service's clusters may not be read."""
    said = service.get("status") or {}
    clusters = [await branch(client, state, service, each) for each in shares(service)]
    return {
        "name": service["metadata"]["name"],
        "conditions": [kept(each) for each in said.get("conditions") or ()],
        "paused": is_paused(service),
        "podsThatTakeRequests": said.get("numServeEndpoints", 0),
        "clusters": clusters,
    }


def kept(condition: Obj) -> Obj:
    return {name: condition.get(name, "") for name in ("type", "status", "reason", "message")}


def shares(service: Obj) -> Iterator[Obj]:
    """The clusters that the status names, with the traffic and the capacity (percent) that each one has."""
    said = service.get("status") or {}
    for field, role, usual in ROLES:
        part = said.get(field) or {}
        if part.get("rayClusterName"):
            traffic, capacity = part.get("trafficRoutedPercent"), part.get("targetCapacity")
            yield {
                "name": part["rayClusterName"],
                "role": role,
                "traffic": usual if traffic is None else traffic,
                **({} if capacity is None else {"capacity": capacity}),
                "applications": [application(name, each) for name, each in sorted((part.get("applicationStatuses") or {}).items())],
            }


def application(name: str, said: Obj) -> Obj:
    deployments = sorted((said.get("serveDeploymentStatuses") or {}).items())
    return {
        "name": name,
        "status": said.get("status", ""),
        "message": said.get("message", ""),
        "deployments": [{"name": part, "status": each.get("status", ""), "message": each.get("message", "")} for part, each in deployments],
    }


async def branch(client: Client, state: State, service: Obj, share: Obj) -> Obj:
    """One cluster, as its Ray says it is now."""
    from rayfleet.api.meta import RAYCLUSTERS
    from rayfleet.cli.dashboard import ask
    from rayfleet.cli.failure import Failure
    from rayfleet.kube.errors import ApiError, NotFound
    from rayfleet.ray import serve
    from rayfleet.ray.answer import Unreachable, read

    try:
        cluster = await client.get(RAYCLUSTERS, share["name"], service["metadata"]["namespace"])
    except NotFound:
        return share | {"unheard": "it is gone"}
    try:
        said = read(serve.details(), 200, await ask(client, state, cluster, serve.details().path))
    except (ApiError, Failure) as error:
        return share | {"unheard": f"Ray does not answer: {error}"}
    if isinstance(said, Unreachable):
        return share | {"unheard": said.text}
    return share | {"applications": [heard(name, each) for name, each in sorted(said.applications.items())]}


def heard(name: str, said: Any) -> Obj:
    """An application in Serve's words."""
    return {
        "name": name,
        "status": said.status,
        "message": said.message,
        **({"route": said.route_prefix} if said.route_prefix else {}),
        "deployments": [
            {"name": part, "status": each.status, "message": each.message, "replicas": dict(replicas(each.replicas))}
            for part, each in sorted(said.deployments.items())
        ],
    }


def replicas(found: tuple[Any, ...]) -> Counter[str]:
    """How many are in which state."""
    return Counter(str(each.get("state", "UNKNOWN")) for each in found if isinstance(each, dict))


def is_paused(service: Obj) -> bool:
    from rayfleet.api.labels import PAUSED

    return (service["metadata"].get("annotations") or {}).get(PAUSED) == "true"


def lines_of(found: Obj) -> Iterator[str]:
    yield f"rayservice/{found['name']}"
    yield from (f"  {line}" for line in standing(found["conditions"], found["paused"]))
    yield f"  {found['podsThatTakeRequests']} Pods take requests"
    for cluster in found["clusters"]:
        yield f"  {share_told(cluster)}"
        if "unheard" in cluster:
            yield f"    {cluster['unheard']}; as it was last reported:"
        for each in cluster["applications"]:
            yield from (f"    {line}" for line in application_told(each))


def standing(conditions: list[Obj], paused: bool) -> Iterator[str]:
    """Is it ready, what is under way, and what is in its way?"""
    for each in conditions:
        under_way = each["type"] in UNDER_WAY and each["status"] == "True"
        if each["type"] == "Ready" or under_way or (each["type"], each["status"]) == ("GatewayReady", "False"):
            yield told(each)
    if paused:
        yield "paused: no cluster is made, and no traffic moved"


def told(condition: Obj) -> str:
    said = f": {condition['message']}" if condition.get("message") else ""
    return f"{condition['type']}: {condition['status']} ({condition['reason']}){said}"


def share_told(cluster: Obj) -> str:
    capacity = f", {cluster['capacity']} % of the capacity" if "capacity" in cluster else ""
    return f"raycluster/{cluster['name']} {WORDS[cluster['role']]}: {cluster['traffic']} %{capacity}"


def application_told(each: Obj) -> Iterator[str]:
    at = f" at {each['route']}" if each.get("route") else ""
    yield f"application {each['name']}: {each['status']}{at}{ending(each['message'])}"
    for part in each["deployments"]:
        yield f"  deployment {part['name']}: {part['status']}{counted(part.get('replicas'))}{ending(part['message'])}"


def counted(states: dict[str, int] | None) -> str:
    if states is None:
        return ""
    number = sum(states.values())
    parts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f", {number} replica{'' if number == 1 else 's'}" + (f" ({parts})" if parts else "")


def ending(message: str) -> str:
    """Of a long text, such as a traceback, the last line says most."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return f": {lines[-1]}" if lines else ""
