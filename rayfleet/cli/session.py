"""`rayfleet session`: a cluster's dashboard, client and Serve ports on this machine, whichever Pod is the head."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option

if TYPE_CHECKING:
    from rayfleet.api.meta import Key, Resource
    from rayfleet.cli.forwarding import Forwarding
    from rayfleet.kube.client import Client


def port_option(name: str, told: str) -> Any:
    return click.option(f"--{name}-port", type=click.IntRange(1, 65535), metavar="PORT", help=f"Of this machine, for {told}.")


@click.command()
@click.argument("target", metavar="NAME | KIND/NAME")
@port_option("dashboard", "the dashboard and jobs [default: 8265, or the next free one]")
@port_option("client", "Ray Client [default: 10001, or the next free one]")
@port_option("serve", "Serve's HTTP [default: 8000, or the next free one]")
@namespace_option
@api_options
def command(
    target: str, dashboard_port: int | None, client_port: int | None, serve_port: int | None, namespace: str | None, **api: Any
) -> None:
    """Bring the ports of a cluster's head to this machine, and keep them there when the head is replaced. Ctrl-C ends it.

    KIND is raycluster (when nothing is said), rayjob or rayservice: then it is the cluster that they use at present. Works with any
    kubeconfig whose user may create `pods/portforward`, from Kubernetes 1.31 on.

    \b
    Examples:
      rayfleet session one
      rayfleet session rayservice/shop --serve-port 8000
    """
    from rayfleet.api.meta import Key

    kind, name = kind_of(target)
    connection = connection_of(**api)
    key = Key(namespace or connection.namespace, name)
    wanted = {"dashboard": dashboard_port, "client": client_port, "serve": serve_port}

    async def run() -> None:
        async with client_of(connection) as client:
            await hold(client, kind, key, wanted)

    asyncio.run(run())
    click.echo("\nThe session has ended.")


def kind_of(target: str) -> tuple[Resource, str]:
    from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS
    from rayfleet.cli.ray_kinds import RAY_WORDS

    word, slash, name = target.rpartition("/")
    kind = RAY_WORDS.get(word.lower()) if slash else RAYCLUSTERS
    if kind is None or kind == RAYCRONJOBS or not name:
        raise click.UsageError(f"{target!r} has no head; write a RayCluster's NAME, rayjob/NAME or rayservice/NAME")
    return kind, name


async def hold(client: Client, kind: Resource, key: Key, wanted: dict[str, int | None]) -> None:
    """Until SIGINT or SIGTERM. Raises ApiError when the object may not be read, Failure without a port or when the object is deleted."""
    import signal

    from rayfleet.cli.forwarding import Forwarding
    from rayfleet.cli.heads import Heads

    title = f"{kind.kind.lower()}/{key.name}"
    await look(client, kind, key)
    teller = Teller(title)
    heads = Heads(client, kind, key, teller.head_changed)
    forwarding = Forwarding(client, heads, teller.once)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # by name: a shell's background processes begin with SIGINT ignored
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    watching = asyncio.create_task(heads.run())
    try:
        await forwarding.open(wanted)
        await heads.synced()
        owner = heads.owner()
        if heads.current is None:
            teller.say(f"{title} is suspended: it has no head." if owner and owner.spec.suspend else f"{title} has no running head yet.")
        told_where(title, forwarding)
        await either(stopped, heads.deleted)
        if heads.deleted.is_set():
            raise Failure(f"{title} was deleted; the session has ended")
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await forwarding.close()


async def either(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


async def look(client: Client, kind: Resource, key: Key) -> None:
    """May we read what we shall watch, and is it there? Raises Failure, ApiError."""
    from rayfleet.api.meta import PODS
    from rayfleet.cli.near import find

    await find(client, kind, key.namespace, key.name)
    await client.list_page(PODS, namespace=key.namespace, limit=1)


def told_where(title: str, forwarding: Forwarding) -> None:
    click.echo(f"Session with {title} (Ctrl-C ends it):")
    for name, port in forwarding.ports.items():
        click.echo(f"  {name:<10} {'ray' if name == 'client' else 'http'}://127.0.0.1:{port}")


class Teller:
    """Says what happens, and nothing twice for one head."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.said: set[str] = set()

    def say(self, words: str) -> None:
        click.echo(words)

    def once(self, words: str) -> None:
        if words not in self.said:
            self.said.add(words)
            self.say(words)

    def head_changed(self, pod: Any) -> None:
        self.said.clear()
        self.say(f"The head is {pod.metadata.name}." if pod else "The head is gone; connections wait for the next one.")
