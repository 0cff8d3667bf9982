"""Logs come from the kubelet of the Pod's node."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.apiserver.manifests import PODS, pod
from tests.apiserver.peer import Peer


@pytest.fixture
async def node(peer: Peer) -> AsyncIterator[Peer]:
    """A node whose kubelet answers with what it was asked."""

    async def logs(request: web.Request) -> web.Response:
        if request.query.get("previous") == "true":
            return web.Response(status=400, text="previous terminated container not found")
        return web.Response(text=f"{request.path} {request.query_string}\n")

    app = web.Application()
    app.router.add_get("/containerLogs/{rest:.*}", logs)
    kubelet = TestServer(app)
    await kubelet.start_server()
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
    }
    annotations = {"rayfleet.dev/kubelet-scheme": "http"}
    await peer.create("/api/v1/nodes", {"metadata": {"name": "n", "annotations": annotations}, "status": status})
    await peer.create(PODS, pod())
    yield peer
    await kubelet.close()


async def test_a_log_is_passed_on_from_the_kubelet(node: Peer) -> None:
    assert (await node.get(f"{PODS}/a/log")).status == 204
    await node.create(f"{PODS}/a/binding", {"target": {"name": "n"}})
    answer = await node.get(f"{PODS}/a/log?tailLines=5")
    assert (answer.status, answer.body) == (200, "/containerLogs/default/a/main tailLines=5\n")


async def test_the_kubelets_refusal_is_passed_on(node: Peer) -> None:
    await node.create(f"{PODS}/a/binding", {"target": {"name": "n"}})
    refused = await node.get(f"{PODS}/a/log?previous=true")
    assert (refused.status, refused.body["message"]) == (400, "previous terminated container not found")
    wrong = await node.get(f"{PODS}/a/log?container=other")
    assert (wrong.status, wrong.body["message"]) == (400, "container other is not valid for pod a")


async def test_a_dead_kubelet_is_said_to_be_dead(node: Peer) -> None:
    await node.patch("/api/v1/nodes/n/status", {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}})
    await node.create(f"{PODS}/a/binding", {"target": {"name": "n"}})
    assert (await node.get(f"{PODS}/a/log")).status == 500
