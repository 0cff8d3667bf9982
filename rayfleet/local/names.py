"""Names outside the cluster, for fleets whose Pods may reach them: the door asks the machine's own resolvers what the fleet's DNS asks it.

A Unix socket crosses network namespaces, so it matters not whether the machine's resolver can be reached from inside (often it is on the
machine's loopback). Messages are framed as TCP does it. https://www.rfc-editor.org/rfc/rfc7766
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from rayfleet.kubelet.dns import PORT, framed, read_framed
from rayfleet.local.state import State

RESOLVERS = Path("/etc/resolv.conf")
MOST = 3  # as the C library
ANSWERS_IN = 2.0  # seconds, each of them
CUT = 0x02  # the mark of an answer that was too large for a datagram, in its third byte


async def resolve_names(state: State) -> None:
    """Until cancelled."""
    server = await asyncio.start_unix_server(answer, state.names.name)  # the door's directory is the state's
    async with server:
        await server.serve_forever()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One question; without an answer the connection is closed."""
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        query = await read_framed(reader)
        found = await ask_any(query, resolvers())
        if found:
            writer.write(framed(found))
            await writer.drain()
    writer.close()


def resolvers() -> list[str]:
    """The machine's, read anew each time: they change with the network."""
    words = [line.split() for line in RESOLVERS.read_text().splitlines()]
    return [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"][:MOST]


async def ask_any(query: bytes, addresses: list[str]) -> bytes:
    """The first answer; b"" when none gives one."""
    for address in addresses:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(ANSWERS_IN):
                found = await by_datagram(query, address)
            if len(found) > 2 and found[2] & CUT:
                async with asyncio.timeout(ANSWERS_IN):
                    found = await by_stream(query, address)
            return found
    return b""


async def by_datagram(query: bytes, address: str) -> bytes:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[bytes] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(lambda: OneAnswer(waiting), remote_addr=(address, PORT))
    try:
        transport.sendto(query)
        return await waiting
    finally:
        transport.close()


async def by_stream(query: bytes, address: str) -> bytes:
    reader, writer = await asyncio.open_connection(address, PORT)
    try:
        writer.write(framed(query))
        return await read_framed(reader)
    finally:
        writer.close()


class OneAnswer(asyncio.DatagramProtocol):
    def __init__(self, waiting: asyncio.Future[bytes]) -> None:
        self.waiting = waiting

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.waiting.done():
            self.waiting.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.waiting.done():
            self.waiting.set_exception(exc)
