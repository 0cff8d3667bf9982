"""Passes each request on to the Service whose turn it is, in a connection of its own and without a second try."""

from __future__ import annotations

import aiohttp
from aiohttp import web

from tests.gateway.controller import FakeGateway

ANSWERED_BY = "x-answered-by"


def application(gateway: FakeGateway, session: aiohttp.ClientSession, port: int) -> web.Application:
    """`port` is that of the Services."""

    async def passed_on(request: web.Request) -> web.Response:
        service = gateway.turn()
        if not service:
            return web.Response(status=503, text="no route")
        async with session.request(request.method, f"http://{service}:{port}{request.rel_url}", data=await request.read()) as answer:
            return web.Response(status=answer.status, body=await answer.read(), headers={ANSWERED_BY: service})

    made = web.Application()
    made.router.add_route("*", "/{path:.*}", passed_on)
    return made
