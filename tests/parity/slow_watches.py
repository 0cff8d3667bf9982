"""A way to the API server on which news come late: each watch lags behind by a time of its own that changes all the while."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from rayfleet.kube.connection import Connection
from tests.parity.stage import Tap

CHUNK = 1 << 16


def slow_watches(most: float, seed: int = 1) -> Tap:
    """Each piece of a watch waits up to `most` seconds. Other answers come at once."""
    dice = random.Random(seed)

    @asynccontextmanager
    async def way(connection: Connection) -> AsyncIterator[Connection]:
        target = urlsplit(connection.server)
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(target.hostname, target.port)
            watches = asyncio.Event()
            pumps = [pump(reader, far_writer, watches, None), pump(far_reader, writer, watches, lambda: dice.uniform(0, most))]
            for course in pumps:
                task = asyncio.create_task(course)
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            yield replace(connection, server=f"http://127.0.0.1:{port}")
        finally:
            server.close()
            for task in tasks:
                task.cancel()

    return way


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, watches: asyncio.Event, lag: Callable[[], float] | None) -> None:
    """What comes is passed on; `watches` says that the connection carries a watch now."""
    try:
        while data := await reader.read(CHUNK):
            if lag is None:
                if b"watch=" in data.partition(b"\r\n")[0]:
                    watches.set()
            elif watches.is_set():
                await asyncio.sleep(lag())
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        return
    finally:
        writer.close()
