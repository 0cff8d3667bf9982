"""An HTTP proxy that carries CONNECT, and notes what it was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """Its URL, and `METHOD target` of each request."""
    asked: list[str] = []
    running: set[asyncio.Task[None]] = set()

    async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(65536):
                target.write(chunk)
                await target.drain()
        target.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        task.add_done_callback(running.discard)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        asked.append(f"{method} {target}")
        host, _, port = target.rpartition(":")
        there, here = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with suppress(asyncio.CancelledError):  # the end of the test
            await asyncio.gather(carry(reader, here), carry(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        for task in list(running):
            task.cancel()
