"""How dashboards are reached: with which token, at which address, and through the API server."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from rayfleet.api.config import Configuration
from rayfleet.api.meta import Key
from rayfleet.cli.dashboards import Proxied, SecretTokens, host_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.permit import Shut, permitted
from rayfleet.ray import jobs, serve
from rayfleet.ray.answer import Target
from rayfleet.ray.http import Direct
from rayfleet.ray.pool import understood

TARGET = Target(Key("default", "one"), "one-head-svc", "127.0.0.1", secret="one", pod="one-head-x")


class Server:
    """An API server with one Secret, whose proxy is also the dashboard. `asked` are (method, path with query, token, body)."""

    def __init__(self) -> None:
        self.token = "first"
        self.port = 0
        self.reads = 0
        self.says = b"success"
        self.asked: list[tuple[str, str, str, bytes]] = []

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("/secrets/one"):
            self.reads += 1
            return web.json_response({"data": {"auth_token": base64.b64encode(self.token.encode()).decode()}})
        shown = request.headers.get("x-ray-authorization", "")
        self.asked.append((request.method, request.path_qs, shown, await request.read()))
        if shown != f"Bearer {self.token}":
            return web.Response(status=403, text="wrong token")
        return web.Response(body=self.says)


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Server, Client]]:
    server, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.port = runner.addresses[0][1]
    try:
        async with Client(Connection(f"http://127.0.0.1:{server.port}")) as client:
            yield server, client
    finally:
        await runner.cleanup()


def at(server: Server, **given: Any) -> Target:
    return Target(TARGET.cluster, TARGET.service, TARGET.address, server.port, **{"secret": "one", "pod": TARGET.pod, **given})


async def test_the_token_is_read_when_it_is_first_needed_and_again_when_it_was_refused() -> None:
    async with serving() as (server, client):
        ask = Direct(lambda target: target.address, SecretTokens(client))
        try:
            assert (await ask(at(server, secret=""), serve.details()))[0] == 403 and server.reads == 0
            for _ in range(3):
                assert await ask(at(server), serve.details()) == (200, b"success")
            assert server.reads == 1
            server.token = "second"
            assert (await ask(at(server), serve.details()))[0] == 403
            assert (await ask(at(server), serve.details()))[0] == 200 and server.reads == 2
        finally:
            await ask.close()


async def test_what_may_not_be_sent_any_more_when_the_token_has_come_is_not_sent() -> None:
    def permit() -> None:
        if server.reads:
            raise Shut

    async with serving() as (server, client):
        ask = Direct(lambda target: target.address, SecretTokens(client))
        try:
            with pytest.raises(Shut), permitted(permit):
                await ask(at(server), serve.deploy({"applications": []}))
            assert (server.reads, server.asked) == (1, [])
        finally:
            await ask.close()


async def test_how_a_job_ended_is_read_also_below_ten_megabytes_of_its_words() -> None:
    async with serving() as (server, client):
        said = {"status": "FAILED", "message": "x" * 10_000_000 + "\nValueError: no such column"}
        server.says = msgspec.json.encode(said)
        ask = Direct(lambda target: target.address, SecretTokens(client))
        try:
            found = understood(jobs.job("a"), *await ask(at(server), jobs.job("a")))
        finally:
            await ask.close()
        assert found.status == "FAILED" and found.message.endswith("ValueError: no such column")
        assert len(found.message) <= jobs.KEPT, "a thousand jobs may say as much"


async def test_what_has_a_port_of_its_own_is_asked_at_the_pod_s_address() -> None:
    async with serving() as (server, client):
        ask = Direct(lambda target: "nowhere.invalid", SecretTokens(client))
        try:
            assert (await ask(at(server), serve.health(server.port)))[0] == 200
            with pytest.raises(OSError, match=r"nowhere\.invalid"):
                await ask(at(server), serve.details())
        finally:
            await ask.close()


async def test_through_the_api_server_the_service_is_asked_and_for_the_proxy_the_pod() -> None:
    """Serve is asked at the head alone: report B6, 107 (k#1173)."""
    async with serving() as (server, client):
        ask = Proxied(client, SecretTokens(client))
        assert await ask(TARGET, serve.details()) == (200, b"success")
        assert await ask(TARGET, serve.health(8000)) == (200, b"success")
        assert (await ask(TARGET, serve.deploy({"applications": []})))[0] == 200
        space = "/api/v1/namespaces/default"
        assert [(method, path) for method, path, _, _ in server.asked] == [
            ("GET", f"{space}/services/one-head-svc:8265/proxy/api/serve/applications/?api_type=declarative"),
            ("GET", f"{space}/pods/one-head-x:8000/proxy/-/healthz"),
            ("PUT", f"{space}/services/one-head-svc:8265/proxy/api/serve/applications/"),
        ]
        assert msgspec.json.decode(server.asked[2][3]) == {"applications": []}
        assert {shown for _, _, shown, _ in server.asked} == {"Bearer first"}


async def test_an_error_of_ray_comes_through_the_api_server_as_it_is() -> None:
    async with serving() as (server, client):
        tokens = SecretTokens(client)
        ask = Proxied(client, tokens)
        await tokens(TARGET)
        server.token = "second"
        status, said = await ask(TARGET, serve.details())
        assert status == 403 and b"wrong token" in said
        assert (await ask(TARGET, serve.details()))[0] == 200


@pytest.mark.parametrize(("given", "host"), [({}, "one-head-svc.default.svc.cluster.local"), ({"head_address": "pod"}, "127.0.0.1")])
def test_the_configuration_says_which_address(given: dict[str, Any], host: str) -> None:
    assert host_of(Configuration(**given))(TARGET) == host
