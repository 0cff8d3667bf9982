"""The way out, for a fleet whose user asked for it: connections to some ports of the world are taken inside and made by the door.

Every address is local to the fleet's own network (see rayfleet.kubelet.network), so a listener hears who wants to go where, and the
door, on the host's side, goes there as any program of its user would. Nothing is set up on the host, no tool and no right is needed for
it; but only TCP and UDP go out, and only to the ports that are named.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from ipaddress import IPv4Address

from rayfleet.kubelet.pipe import join, reset
from rayfleet.kubelet.settings import CLUSTER_ADDRESSES, POD_ADDRESSES
from rayfleet.local.datagrams import OUTWARD, Mouth, send_on
from rayfleet.local.names import resolve_names
from rayfleet.local.relay import relay, through
from rayfleet.local.state import State

LOG = logging.getLogger("rayfleet.egress")


async def let_out(state: State) -> None:
    """The door's part, until cancelled: makes the connections, and asks for the names. The working directory is the state's."""
    server = await asyncio.start_unix_server(relay, state.way_out.name)
    datagrams = await asyncio.start_unix_server(send_on, OUTWARD)
    async with server, datagrams, asyncio.TaskGroup() as group:
        group.create_task(server.serve_forever())
        group.create_task(datagrams.serve_forever())
        group.create_task(resolve_names(state))


async def take_out(state: State) -> list[asyncio.Server | Mouth]:
    """The inside's part: listeners at every address that is not the fleet's. The working directory is the state's."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("sockname")
        try:
            if is_ours(IPv4Address(host)):
                raise ConnectionRefusedError
            far = await through(f"{host}:{port}", state.way_out.name)
        except (OSError, TimeoutError):
            reset(writer)
            return
        await join((reader, writer), far)

    servers: list[asyncio.Server | Mouth] = []
    for port in json.loads(state.egress.read_text()):
        try:
            # The port is shared with ClusterIPs, which are more exact and so come first.
            servers.append(await asyncio.start_server(carry, "0.0.0.0", port, reuse_port=True))
            servers.append(Mouth("0.0.0.0", port, OUTWARD, goal_at(port)))
        except OSError as error:
            LOG.error("connections to port %d of the world cannot be taken: %s", port, error)
    return servers


def goal_at(port: int) -> Callable[[IPv4Address], str | None]:
    """Where a datagram to that port of the world goes; to the fleet's own addresses nowhere, as nobody listens there."""
    return lambda address: None if is_ours(address) else f"{address}:{port}"


def is_ours(address: IPv4Address) -> bool:
    return address.is_loopback or address in POD_ADDRESSES or address in CLUSTER_ADDRESSES
