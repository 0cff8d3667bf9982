"""pods/proxy and services/proxy: real HTTP to what stands for a Pod."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import WSMsgType, WSServerHandshakeError, web

from tests.apiserver.manifests import PODS, SERVICES, pod
from tests.apiserver.peer import Peer, until

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@pytest.fixture
async def inside(peer: Peer) -> AsyncIterator[Peer]:
    """A ready Pod "a" behind the Service "s", answering with what it was asked."""

    async def echo(request: web.Request) -> web.Response:
        told = {"path": request.raw_path, "body": (await request.read()).decode(), "token": request.headers.get("Authorization", "")}
        return web.json_response(told, status=418 if "tea" in request.path else 200, headers={"X-From": "the pod"})

    async def repeat(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json([request.raw_path, request.headers.get("X-Mine"), request.headers.get("Authorization")])
        async for message in socket:
            await socket.send_str(message.data * 2)
            if message.data == "end":
                break
        return socket

    app = web.Application()
    app.router.add_get("/repeat/{path:.*}", repeat)
    app.router.add_route("*", "/{path:.*}", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    body = pod("a", labels={"app": "x"})
    body["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": port}]
    await peer.create(PODS, body)
    ready = {"phase": "Running", "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    await peer.patch(f"{PODS}/a/status", {"status": ready})
    spec = {"selector": {"app": "x"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}
    await peer.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})

    async def sliced() -> bool:
        items = (await peer.get(SLICES)).body["items"]
        return bool(items and items[0]["endpoints"])

    await until(sliced)
    yield peer
    await runner.cleanup()


@pytest.mark.parametrize("path", [f"{PODS}/a/proxy/x/y?q=1", f"{SERVICES}/s/proxy/x/y?q=1", f"{SERVICES}/http:s:http/proxy/x/y?q=1"])
async def test_a_request_and_its_answer_pass_whole_but_for_the_token(inside: Peer, path: str) -> None:
    answer = await inside.ask("POST", path, b"hello", "text/plain", Authorization="Bearer secret")
    assert (answer.status, answer.body) == (200, {"path": "/x/y?q=1", "body": "hello", "token": ""})
    assert (await inside.get(f"{PODS}/a/proxy/tea")).status == 418


@pytest.mark.parametrize("place", [f"{PODS}/a", f"{SERVICES}/s"])
async def test_a_websocket_passes_both_ways_until_either_side_ends_it(inside: Peer, place: str) -> None:
    headers = {"X-Mine": "x", "Authorization": "Bearer secret"}
    async with inside.session.ws_connect(f"{place}/proxy/repeat/a%20b?q=%C3%A9", headers=headers) as socket:
        assert await socket.receive_json() == ["/repeat/a%20b?q=%C3%A9", "x", None]
        for text in ("é" * 70_000, "end"):
            await socket.send_str(text)
            assert await socket.receive_str() == text * 2
        assert (await socket.receive()).type is WSMsgType.CLOSE
    with pytest.raises(WSServerHandshakeError) as refused:
        await inside.session.ws_connect(f"{place}/proxy/tea")
    assert refused.value.status == 418


async def test_a_port_that_nobody_has_and_a_pod_that_went(inside: Peer) -> None:
    assert (await inside.get(f"{PODS}/a:web/proxy/")).status == 400
    assert (await inside.get(f"{SERVICES}/s:other/proxy/")).status == 503
    await inside.delete(f"{PODS}/a")

    async def gone() -> bool:
        return (await inside.get(f"{SERVICES}/s/proxy/")).status == 503

    await until(gone)
