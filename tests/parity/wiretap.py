"""A way to the API server on which everything is written down, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from rayfleet.kube.connection import Connection

CHUNK = 1 << 16


@dataclass
class Wiretap:
    """One piece for each direction of each connection."""

    sent: list[bytearray] = field(default_factory=list)
    received: list[bytearray] = field(default_factory=list)

    @asynccontextmanager
    async def way(self, connection: Connection) -> AsyncIterator[Connection]:
        target = urlsplit(connection.server)
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(target.hostname, target.port)
            for source, sink, pieces in ((reader, far_writer, self.sent), (far_reader, writer, self.received)):
                pieces.append(bytearray())
                task = asyncio.create_task(pump(source, sink, pieces[-1]))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            yield replace(connection, server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        finally:
            server.close()
            for task in tasks:
                task.cancel()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, record: bytearray) -> None:
    try:
        while data := await reader.read(CHUNK):
            record += data
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        return
    finally:
        writer.close()
