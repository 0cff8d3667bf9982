"""Two byte streams joined: what one side says, the other hears, until both have said their end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct

PIECE = 256 * 1024
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what was not sent yet is dropped, and the other side told so
JOINED: set[asyncio.Task[object] | None] = set()
"""Who carries. Nobody else holds on to a connection one of whose ends has no more to say: it would be swept up as garbage."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def allow_many() -> None:
    """As many open files as the system lets us have: each connection that is carried takes two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def join(near: Streams, far: Streams) -> None:
    """Carry bytes both ways; an end of file is handed on (half closed), an error breaks both."""
    carrier = asyncio.current_task()
    JOINED.add(carrier)
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(carry(near[0], far[1]))
            both.create_task(carry(far[0], near[1]))
    except* OSError:
        reset(near[1])
        reset(far[1])
    finally:
        JOINED.discard(carrier)
        for _, writer in (near, far):
            writer.close()
        for _, writer in (near, far):
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(PIECE):
        writer.write(part)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def reset(writer: asyncio.StreamWriter) -> None:
    """Let the caller see a connection that broke (RST), not one that was ended well."""
    with contextlib.suppress(OSError):  # the caller is gone already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    writer.transport.abort()
