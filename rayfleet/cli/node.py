"""`rayfleet node`: the nodes of a local fleet, which are all this machine."""

from __future__ import annotations

import asyncio
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, no_fleet, state_of, state_option
from rayfleet.cli.output import columns

if TYPE_CHECKING:
    from rayfleet.kube.client import Client

LOOK_AGAIN = 0.5  # seconds
SHOWN = ("cpu", "memory", "pods")


@click.group()
def command() -> None:
    """List, stop, start and drain the nodes of a local fleet (rayfleet up --nodes N)."""


@command.command("list")
@api_options
def list_nodes(**api: Any) -> None:
    """Show the nodes, and what Pods have asked of them.

    \b
    Example:
      rayfleet node list
    """
    connection = connection_of(**api)

    async def run() -> list[list[str]]:
        async with client_of(connection) as client:
            return await rows(client)

    click.echo(columns(["name", "status", *SHOWN], asyncio.run(run())))


async def rows(client: Client) -> list[list[str]]:
    from rayfleet.api.meta import NODES, PODS
    from rayfleet.scheduling.amounts import amounts_of, requested, sum_of

    pods = [pod for pod in await client.list(PODS) if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    found = []
    for node in await client.list(NODES):
        name = node["metadata"]["name"]
        taken = sum_of(requested(pod["spec"]) for pod in pods if pod["spec"].get("nodeName") == name)
        has = amounts_of((node.get("status") or {}).get("allocatable"))
        shares = [f"{shown(key, taken.get(key, Fraction(0)))} of {shown(key, has.get(key, Fraction(0)))}" for key in SHOWN]
        found.append([name, standing(node), *shares])
    return found


def shown(name: str, amount: Fraction) -> str:
    return f"{float(amount / 2**30):.1f} Gi" if name == "memory" else f"{float(amount):g}"


def standing(node: dict[str, Any]) -> str:
    from rayfleet.scheduling.loss import is_ready

    words = ["Ready" if is_ready(node.get("status") or {}) else "NotReady"]
    return ",".join([*words, *(["SchedulingDisabled"] if (node.get("spec") or {}).get("unschedulable") else [])])


@command.command()
@click.argument("name")
@state_option
def stop(name: str, state: str | None) -> None:
    """Cut a node's power: its Pods' processes are killed, and it is silent until it is started.

    After 40 s it is lost (NotReady), after five minutes more its Pods are evicted, as Kubernetes has it; `up --patience` shortens both.

    \b
    Example:
      rayfleet node stop local-2
    """
    done = turn(state, name, stopped=True)
    click.echo(f"Node {name} is stopped." if done else f"Node {name} is stopped already.")


@command.command()
@click.argument("name")
@state_option
def start(name: str, state: str | None) -> None:
    """Start a stopped node: Pods that are still its own start again.

    \b
    Example:
      rayfleet node start local-2
    """
    done = turn(state, name, stopped=False)
    click.echo(f"Node {name} is started." if done else f"Node {name} is not stopped.")


def turn(state: str | None, name: str, *, stopped: bool) -> bool:
    from rayfleet.local.find import find_holder
    from rayfleet.local.machine import NoSuchNode, set_stopped

    place = state_of(state)
    if find_holder(place) is None:
        raise Failure(no_fleet(place))
    try:
        return set_stopped(place, name, stopped=stopped)
    except NoSuchNode as error:
        raise Failure(str(error)) from error


@command.command()
@click.argument("name")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until its Pods are gone.",
)
@api_options
def drain(name: str, timeout: float, **api: Any) -> None:
    """Take no new Pods to a node, evict those that it has, and wait until they are gone. Disruption budgets are respected.

    \b
    Examples:
      rayfleet node drain local-2
      rayfleet node uncordon local-2
    """
    connection = connection_of(**api)

    async def run() -> int:
        async with client_of(connection) as client:
            await cordon(client, name, True)
            return await empty(client, name, time.monotonic() + timeout)

    click.echo(f"Node {name} is drained: {asyncio.run(run())} Pods evicted. Let it take Pods again with: rayfleet node uncordon {name}")


@command.command()
@click.argument("name")
@api_options
def uncordon(name: str, **api: Any) -> None:
    """Let a node take Pods again.

    \b
    Example:
      rayfleet node uncordon local-2
    """
    connection = connection_of(**api)

    async def run() -> None:
        async with client_of(connection) as client:
            await cordon(client, name, False)

    asyncio.run(run())
    click.echo(f"Node {name} takes Pods.")


async def cordon(client: Client, name: str, off: bool) -> None:
    from rayfleet.api.meta import NODES

    await client.patch(NODES, name, None, {"spec": {"unschedulable": off or None}})


async def empty(client: Client, name: str, deadline: float) -> int:
    """How many Pods were evicted. Raises Failure when some are still there at the deadline."""
    from rayfleet.api.meta import PODS
    from rayfleet.kube.errors import NotFound, TooManyRequests

    evicted: set[str] = set()
    while True:
        pods = [pod for pod in await client.list(PODS) if pod["spec"].get("nodeName") == name]
        if not pods:
            return len(evicted)
        if time.monotonic() > deadline:
            raise Failure(f"these Pods are still on node {name}: {', '.join(sorted(pod['metadata']['name'] for pod in pods))}")
        for meta in (pod["metadata"] for pod in pods if pod["metadata"]["uid"] not in evicted):
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": meta["name"], "namespace": meta["namespace"]}}
            try:
                await client.create(PODS, body, meta["namespace"], name=meta["name"], subresource="eviction")
                evicted.add(meta["uid"])
            except NotFound:
                pass
            except TooManyRequests:  # a disruption budget does not allow it yet
                pass
        await asyncio.sleep(LOOK_AGAIN)
