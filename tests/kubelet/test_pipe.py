"""Connections that are carried on to others: how they end is handed on, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from rayfleet.kubelet.pipe import Streams, join, reset

Served = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Served) -> AsyncIterator[int]:
    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def carried(serve: Served) -> AsyncIterator[Streams]:
    """A connection to whoever serves, through a pipe."""

    async with listening(serve) as behind:

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await join((reader, writer), await asyncio.open_connection("127.0.0.1", behind))

        async with listening(carry) as before, asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", before)
            yield reader, writer
            writer.close()


async def test_an_end_is_handed_on_and_the_other_direction_goes_on() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read()
        writer.write(asked[::-1] * 100_000)
        writer.close()

    async with carried(serve) as (reader, writer):
        writer.write(b"please")
        writer.write_eof()
        assert await reader.read() == b"esaelp" * 100_000


async def test_an_answer_that_breaks_off_is_not_one_that_ended() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half an ans")
        await reader.readline()
        reset(writer)

    async with carried(serve) as (reader, writer):
        assert await reader.readexactly(11) == b"half an ans"
        writer.write(b"got it\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()


async def test_who_asks_and_breaks_off_is_heard_of() -> None:
    told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"yes?\n")
        try:
            await reader.read()
            told.set_result(False)
        except ConnectionResetError:
            told.set_result(True)
        writer.close()

    async with carried(serve) as (reader, writer):
        await reader.readline()
        reset(writer)
        assert await told
