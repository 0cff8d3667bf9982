"""The two servers of a session."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.apiserver.window import Window
from testbed.control_plane import ControlPlane
from tests.conformance.case import Step
from tests.conformance.cases import scales
from tests.conformance.cases.schemas import FORMS
from tests.conformance.definitions import DEFINITIONS
from tests.conformance.peer import Peer

WINDOW = 20
TOKEN = "the-admin-of-the-embedded-api"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextmanager
def embedded() -> Iterator[Peer]:
    """The embedded API in a thread of this process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    api = open_api(Store(window=WINDOW), authority="the certificate of an authority")
    server = ApiServer(api.store, tokens=Tokens({TOKEN: ("admin", ("system:masters",))}), api=api)
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.5)

    async def start() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return int(runner.addresses[0][1])

    async def forget() -> None:
        api.store.window = Window(api.store.version, WINDOW)

    def compact() -> None:
        asyncio.run_coroutine_threadsafe(forget(), loop).result(20)

    port = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN, compact=compact, ancient=["gone", 1, "/b0"])
        yield prepared(peer)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def real(plane: ControlPlane) -> Peer:
    context = ssl.create_default_context(cafile=str(plane.credentials.ca))
    ancient = {"v": "meta.k8s.io/v1", "rv": 1, "start": "/b0\0"}
    return prepared(Peer(plane.url, plane.credentials.tokens["admin"], context, compact=plane.compact, ancient=ancient))


def prepared(peer: Peer) -> Peer:
    """With the custom kinds that several cases use."""
    definitions = [*DEFINITIONS, *FORMS, *scales.DEFINITIONS]
    for definition in definitions:
        answer = peer.ask(Step("POST", _DEFINITIONS, definition), {})
        assert answer["code"] == 201, answer
    for definition in definitions:
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                peer.ask(Step("GET", path, until={"code": 200}), {})
    return peer
