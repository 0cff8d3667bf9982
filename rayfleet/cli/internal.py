"""Hidden commands: the processes of a local fleet, as the door and the holder start them."""

from __future__ import annotations

import asyncio

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.kubelet import HEARTBEAT
from rayfleet.cli.options import state_of, state_option


@click.group(hidden=True)
def command() -> None:
    """The processes of a local fleet; started by the fleet itself."""


@command.command()
@state_option
def door(state: str | None) -> None:
    """The host's side: loopback ports, and who keeps the peers alive.

    \b
    Example:
      rayfleet internal door --state DIR
    """
    from rayfleet.local.door import serve
    from rayfleet.local.find import find_holder

    place = state_of(state)
    holder = find_holder(place)
    if holder is None:
        raise Failure(f"no holder lives in {place.path}; start a fleet with: rayfleet up")
    asyncio.run(serve(place, holder))


@command.command()
@state_option
def relay(state: str | None) -> None:
    """Carries the door's connections to addresses inside.

    \b
    Example:
      rayfleet internal relay --state DIR
    """
    from rayfleet.local.relay import serve

    asyncio.run(serve(state_of(state)))


@command.command()
@state_option
def apiserver(state: str | None) -> None:
    """The embedded Kubernetes API.

    \b
    Example:
      rayfleet internal apiserver --state DIR
    """
    from rayfleet.apiserver.journal import Damaged
    from rayfleet.apiserver.server import ApiServerSettings, serve
    from rayfleet.local.credentials import token_of, tokens

    place = state_of(state)
    settings = ApiServerSettings(
        state=place.objects,
        listen=(("127.0.0.1", 6443),),  # Pods come by the ClusterIP; and another Service may have this port too
        tls_cert=place.credentials / "server.crt",
        tls_key=place.credentials / "server.key",
        authority=place.credentials / "ca.crt",  # so Pods can reach it as their service accounts
        tokens=tokens(place),
        kubelet_token=token_of(place, "admin"),
    )
    try:
        asyncio.run(serve(settings))
    except Damaged as failure:
        raise SystemExit(str(failure)) from failure


@command.command()
@state_option
def kubelet(state: str | None) -> None:
    """Runs the fleet's Pods.

    \b
    Example:
      rayfleet internal kubelet --state DIR
    """
    import sys
    from pathlib import Path

    from rayfleet.kubelet.kubelet import run_kubelet
    from rayfleet.kubelet.settings import LEASE_SECONDS, KubeletSettings
    from rayfleet.local.credentials import token_of
    from rayfleet.local.machine import load_machine
    from rayfleet.local.start import api_answers

    place = state_of(state)
    machine = load_machine(place)
    settings = KubeletSettings(
        kubeconfig=place.inner_kubeconfig("kubelet"),
        state=place.pods,
        environment=Path(sys.prefix),
        api=("127.0.0.1", 6443),
        images=place.images,
        host_paths=place.host_paths,
        upstream_dns=Path(place.names.name),  # in the working directory: a socket's path must be short
        hidden=(place.path,),  # tokens of every user lie there
        token=token_of(place, "admin"),  # the API server shows it
        node=machine.names[0],
        beside=machine.names[1:],
        stopped=place.stopped,
        overcommit=machine.overcommit,
        devices=machine.devices,
        pretends=True,
        patience=machine.patience,
        lease_seconds=HEARTBEAT if machine.nodes > 1 else LEASE_SECONDS,
    )

    async def run() -> None:
        await api_answers(place, settings.kubeconfig)  # both start at the same moment
        await run_kubelet(settings)

    asyncio.run(run())
