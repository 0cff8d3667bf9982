"""Two byte streams joined: what one side says, the other hears, until both have said their end."""

from __future__ import annotations

import asyncio
import contextlib
import resource

CHUNK = 256 * 1024
JOINED: set[asyncio.Task[object] | None] = set()
"""Who carries. Nobody else holds on to a connection one of whose ends has no more to say: it would be swept up as garbage."""


def allow_many() -> None:
    """As many open files as the system lets us have: each connection that is carried takes two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def join(near: tuple[asyncio.StreamReader, asyncio.StreamWriter], far: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Carry bytes both ways; an end of file is handed on (half closed), an error ends both."""
    carrier = asyncio.current_task()
    JOINED.add(carrier)
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(carry(near[0], far[1]))
            both.create_task(carry(far[0], near[1]))
    except* OSError:
        pass
    finally:
        JOINED.discard(carrier)
        for _, writer in (near, far):
            writer.close()
        for _, writer in (near, far):
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(CHUNK):
        writer.write(part)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
