"""What is said when the way to a Pod's port is refused. The way itself: tests/local/test_session.py, tests/kubelet/test_joined.py."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from rayfleet.api.meta import Key
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import ApiError, BadRequest, Forbidden, NotFound, Unreachable
from rayfleet.kube.port_forward import PROTOCOL, carry


async def refused(answer: Any) -> ApiError:
    """What becomes of a connection through an API server that answers so."""
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/n/pods/p/portforward", answer)
    async with TestServer(app) as server, Client(Connection(str(server.make_url("")).rstrip("/"))) as client:
        near = await asyncio.start_server(lambda reader, writer: asyncio.Future(), "127.0.0.1", 0)
        streams = await asyncio.open_connection(*near.sockets[0].getsockname())
        with pytest.raises(ApiError) as caught:
            await carry(client, Key("n", "p"), 80, *streams)
        streams[1].close()
        near.close()
    return caught.value


@pytest.mark.parametrize(("code", "kind"), [(403, Forbidden), (404, NotFound)])
async def test_the_servers_own_words_are_told(code: int, kind: type[ApiError]) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": code, "message": "its words"}, status=code)

    found = await refused(answer)
    assert isinstance(found, kind)
    assert found.message == "its words"


async def test_a_server_that_is_too_old_is_named_so() -> None:
    async def turns_away(request: web.Request) -> web.Response:
        return web.Response(status=400, text="unable to upgrade")

    async def chooses_nothing(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        return socket

    for answer in (turns_away, chooses_nothing):
        found = await refused(answer)
        assert isinstance(found, BadRequest)
        assert "1.31" in found.message


async def test_a_tunnel_that_breaks_is_no_good_end() -> None:
    async def breaks(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        await socket.receive()
        await socket.close()
        return socket

    assert isinstance(await refused(breaks), Unreachable)
