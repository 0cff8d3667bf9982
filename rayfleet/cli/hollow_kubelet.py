"""`rayfleet hollow-kubelet`."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import click

from rayfleet.cli.options import api_options, client_of, connection_of


@click.command()
@click.option("--node", default="hollow", show_default=True, metavar="NAME", help="The Node to register as.")
@click.option("--delay", default=0.1, show_default=True, metavar="SECONDS", help="From a Pod's creation to its being ready.")
@api_options
def command(node: str, delay: float, **api: Any) -> None:
    """Play a kubelet without processes: Pods become ready, for tests and benches. Ends on SIGTERM.

    The annotation rayfleet.dev/hollow on a Pod (fail, fail:CODE, pending) decides what becomes of it.

    \b
    Example:
      rayfleet hollow-kubelet --kubeconfig k.yaml --delay 0.5
    """
    from rayfleet.kubelet.hollow import run_hollow

    connection = connection_of(**api)

    async def run() -> None:
        playing = asyncio.current_task()
        assert playing is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, playing.cancel)
        async with client_of(connection) as client:
            try:
                await run_hollow(client, node=node, delay=delay)
            except asyncio.CancelledError:
                click.echo(f"The node {node} has left.", err=True)

    asyncio.run(run())
