"""The relay: a peer inside the namespace. A Unix socket crosses network namespaces; TCP does not.

Each connection begins with one line, `HOST:PORT`; the rest is carried to that address as the fleet's own network sees it. The line comes
back when the address has answered, so that the door does not hold a browser on a port that nobody serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Any

from rayfleet.kubelet.pipe import Streams, allow_many, join, reset
from rayfleet.local.datagrams import INWARD, send_on
from rayfleet.local.ports import Handler
from rayfleet.local.state import State

DIAL_IN = 10.0
SOCKET = "relay.sock"


async def serve(state: State) -> None:
    """Until SIGTERM."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    allow_many()
    os.umask(0o077)
    os.chdir(state.path)  # short socket paths: the kernel takes 107 bytes
    servers: list[Any] = [await asyncio.start_unix_server(relay, SOCKET), await asyncio.start_unix_server(send_on, INWARD)]
    if state.egress.exists():
        from rayfleet.local.egress import take_out

        servers += await take_out(state)
    await stopping.wait()
    for server in servers:
        server.close()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(DIAL_IN):
            line = await reader.readline()
        host, _, port = line.decode().strip().rpartition(":")
        async with asyncio.timeout(DIAL_IN):
            far = await asyncio.open_connection(host, int(port))
    except (OSError, ValueError, OverflowError, TimeoutError):
        writer.close()
        return
    writer.write(line)
    await join((reader, writer), far)


async def through(address: str, path: str = SOCKET) -> Streams:
    """The other end: a stream to an address as the relay at that socket sees it. The caller's working directory is the state directory.

    Raises OSError when the relay or the address does not answer.
    """
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(f"{address}\n".encode())
        async with asyncio.timeout(DIAL_IN + 1):
            answer = await reader.readline()
        if answer != f"{address}\n".encode():
            raise ConnectionRefusedError(f"nobody answers at {address}")
    except BaseException:
        with contextlib.suppress(OSError):
            writer.close()
        raise
    return reader, writer


def towards(address: str) -> Handler:
    """A handler that carries each connection to one address inside."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await through(address)
        except (OSError, TimeoutError):
            reset(writer)
            return
        await join((reader, writer), far)

    return carry
