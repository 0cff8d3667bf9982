"""A server to be hard on: by a client, or by bytes that no client would send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import CONFIGMAPS
from tests.apiserver.peer import Peer

ADMIN = "the-admin"


class Place:
    def __init__(self, port: int) -> None:
        self.port = port
        self.peer = Peer(f"http://127.0.0.1:{port}", ADMIN)

    async def opened(self, text: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text)
        await writer.drain()
        return reader, writer

    async def serves(self) -> None:
        """Somebody else, in a connection of their own."""
        other = Peer(f"http://127.0.0.1:{self.port}", ADMIN)
        assert (await other.get("/api/v1/namespaces/default")).status == 200
        await other.close()


@asynccontextmanager
async def place(patience: float = 60.0) -> AsyncIterator[Place]:
    api = open_api(Store())
    server = ApiServer(api.store, tokens=Tokens({ADMIN: ("admin", ("system:masters",))}), api=api, patience=patience)
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1, auto_decompress=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    made = Place(runner.addresses[0][1])
    try:
        yield made
    finally:
        await made.peer.close()
        await runner.cleanup()


def request(length: int, *headers: str) -> bytes:
    lines = [f"POST {CONFIGMAPS} HTTP/1.1", "Host: x", f"Authorization: Bearer {ADMIN}", f"Content-Length: {length}", *headers]
    return "\r\n".join((*lines, "", "")).encode()
