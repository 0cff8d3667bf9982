"""exec, attach and port-forward reach the kubelet of the Pod's node, and what passes is not changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import PODS, pod
from tests.apiserver.peer import Peer, until

V5, V4, FORWARD = "v5.channel.k8s.io", "v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


class Kubelet:
    """Echoes what it is sent, ends at "end", and notes who asked for what."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.open = 0
        self.api = ""
        """where the API of its node is"""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        self.server = TestServer(app)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.tokens.append(request.headers.get("Authorization", ""))
        if "absent" in request.path_qs:
            return web.Response(status=404, text='container not found ("main")\n')
        socket = web.WebSocketResponse(protocols=(V5, V4, FORWARD), max_msg_size=0)
        await socket.prepare(request)
        self.open += 1
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    await socket.send_bytes(message.data)
                elif message.data == "end":
                    break
        finally:
            self.open -= 1
        return socket


@pytest.fixture
async def kubelet() -> AsyncIterator[Kubelet]:
    kubelet = Kubelet()
    await kubelet.server.start_server()
    yield kubelet
    await kubelet.server.close()


@pytest.fixture
async def peer(kubelet: Kubelet) -> AsyncIterator[Peer]:
    """The admin of an API that has a Pod on that kubelet's node."""
    api = open_api(Store(), kubelet_token="of-the-fleet")
    server = TestServer(ApiServer(api.store, tokens=Tokens({"admin": ("admin", ("system:masters",))}), api=api).app())
    await server.start_server()
    kubelet.api = str(server.make_url("")).rstrip("/")
    peer = Peer(kubelet.api, "admin")
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.server.port}},
    }
    annotations = {"rayfleet.dev/kubelet-scheme": "http"}
    await peer.create("/api/v1/nodes", {"metadata": {"name": "n", "annotations": annotations}, "status": status})
    body = pod()
    await peer.create(PODS, {**body, "spec": {**body["spec"], "nodeName": "n"}})
    yield peer
    await peer.close()
    await server.close()


def calling(peer: Peer, path: str, *protocols: str, token: str = "admin") -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    return peer.session.ws_connect(f"{PODS}/a/{path}", protocols=protocols, headers=headers, max_msg_size=0)


@pytest.mark.parametrize(
    ("path", "protocol", "asked"),
    [
        ("exec?command=sh&command=-c&command=a%20b&stdin=true&stdout=true&tty=false", V5, "/exec/default/a/main?input=1&output=1"),
        ("attach?container=main&stdout=true&stderr=true", V4, "/attach/default/a/main?output=1&error=1"),
        ("portforward?ports=80", FORWARD, "/portForward/default/a?port=80"),
    ],
)
async def test_a_stream_is_the_kubelets_own(peer: Peer, kubelet: Kubelet, path: str, protocol: str, asked: str) -> None:
    async with calling(peer, path, "of.no.one", protocol) as socket:
        assert socket.protocol == protocol
        await socket.send_bytes(b"\0hello")
        assert await socket.receive_bytes(timeout=120) == b"\0hello"
    assert kubelet.asked == [asked + ("&command=sh&command=-c&command=a+b" if "exec" in path else "")]
    assert kubelet.tokens == ["Bearer of-the-fleet"], "the caller's token is for the API server alone"


async def test_much_passes_both_ways_at_once(peer: Peer) -> None:
    piece, count = bytes(range(256)) * 1024, 64
    async with calling(peer, "exec?command=cat&stdin=true&stdout=true", V5) as socket:

        async def send() -> None:
            for _ in range(count):
                await socket.send_bytes(piece)

        sending = asyncio.create_task(send())
        for _ in range(count):
            assert await socket.receive_bytes(timeout=120) == piece
        await sending


async def test_each_side_learns_that_the_other_has_ended(peer: Peer, kubelet: Kubelet) -> None:
    async with calling(peer, "exec?command=cat", V5) as socket:
        await socket.send_str("end")
        message = await socket.receive(timeout=120)
        assert (message.type, socket.close_code) == (WSMsgType.CLOSE, 1000)
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": "Bearer admin"}
        await session.ws_connect(f"{kubelet.api}{PODS}/a/exec?command=cat", protocols=(V5,), headers=headers)
        assert kubelet.open == 1

    async def gone() -> bool:
        return kubelet.open == 0

    await until(gone)


async def test_what_the_kubelet_refuses_with_is_told(peer: Peer) -> None:
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": V5}
    refused = await peer.ask("GET", f"{PODS}/a/exec?command=absent", **asked)
    assert (refused.status, refused.body["message"]) == (404, 'container not found ("main")')
    await peer.patch("/api/v1/nodes/n/status", {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}})
    dead = await peer.ask("GET", f"{PODS}/a/exec?command=ls", **asked)
    assert dead.status == 500
    assert dead.body["message"].startswith("error dialing backend: dial tcp 127.0.0.1:1:")


async def test_a_stream_needs_the_right_to_create_beside_the_one_to_get(peer: Peer) -> None:
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    await peer.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    await peer.create(f"{RBAC}/rolebindings", {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]})
    token = (await peer.create("/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {}})).body["status"]["token"]
    rule: dict[str, Any] = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}
    await peer.create(f"{RBAC}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await calling(peer, "exec?command=ls", V5, token=token)
    assert refusal.value.status == 403
    await peer.patch(f"{RBAC}/roles/r", {"rules": [{**rule, "verbs": ["get", "create"]}]})
    async with calling(peer, "exec?command=ls", V5, token=token) as socket:
        await socket.send_bytes(b"x")
        assert await socket.receive_bytes(timeout=120) == b"x"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await calling(peer, "attach", V5, token=token)
