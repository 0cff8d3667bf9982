"""The client against the project's own API server: what the small server of the other tests only imitates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from rayfleet.api.meta import CONFIGMAPS, LEASES, PODS, Resource
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import AlreadyExists, Conflict, Expired, NotFound


@asynccontextmanager
async def embedded(window: int = 10_000) -> AsyncIterator[Client]:
    """The embedded API in this process, over real HTTP, and a client of it."""
    server = ApiServer(Store(window=window))
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with Client(Connection(f"http://127.0.0.1:{runner.addresses[0][1]}")) as client:
            yield client
    finally:
        await runner.cleanup()


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_verbs_and_refusals() -> None:
    async with embedded() as client:
        made = await client.create(CONFIGMAPS, config("one", a="1"))
        uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
        with pytest.raises(AlreadyExists):
            await client.create(CONFIGMAPS, config("one"))
        patched = await client.patch(CONFIGMAPS, "one", "default", {"data": {"a": None, "b": "2"}})
        assert patched["data"] == {"b": "2"}
        await client.patch(CONFIGMAPS, "one", "default", [{"op": "replace", "path": "/data/b", "value": "3"}], kind="json")
        with pytest.raises(Conflict):
            await client.patch(CONFIGMAPS, "one", "default", {"metadata": {"resourceVersion": version}, "data": {"c": "4"}})
        with pytest.raises(Conflict):
            await client.replace(CONFIGMAPS, config("one") | {"metadata": {**made["metadata"]}})
        with pytest.raises(Conflict):
            await client.delete(CONFIGMAPS, "one", "default", uid="another")
        await client.delete(CONFIGMAPS, "one", "default", uid=uid)
        with pytest.raises(NotFound):
            await client.get(CONFIGMAPS, "one", "default")


async def test_pages_and_watches_fit_together() -> None:
    async with embedded() as client:
        for number in range(7):
            await client.create(CONFIGMAPS, config(f"c{number}"))
        first = msgspec.json.decode(await client.list_page(CONFIGMAPS, "default", limit=3))
        assert len(first["items"]) == 3 and first["metadata"]["continue"]
        assert {item["metadata"]["name"] for item in await client.list(CONFIGMAPS, "default")} >= {f"c{n}" for n in range(7)}
        seen = []
        await client.patch(CONFIGMAPS, "c0", "default", {"data": {"x": "y"}})
        async with aclosing(client.watch(CONFIGMAPS, "default", resource_version=first["metadata"]["resourceVersion"])) as lines:
            async for line in lines:
                event = msgspec.json.decode(line)
                seen.append((event["type"], event["object"]["metadata"]["name"]))
                break
        assert seen == [("MODIFIED", "c0")]


async def test_a_version_that_is_too_old_has_expired() -> None:
    async with embedded(window=5) as client:
        made = await client.create(CONFIGMAPS, config("one"))
        for number in range(20):
            await client.patch(CONFIGMAPS, "one", "default", {"data": {"n": str(number)}})
        with pytest.raises(Expired):
            async with aclosing(client.watch(CONFIGMAPS, resource_version=made["metadata"]["resourceVersion"])) as lines:
                async for line in lines:
                    if msgspec.json.decode(line)["type"] == "ERROR":
                        raise Expired(410, "Expired", "in the stream")


async def test_discovery() -> None:
    async with embedded() as client:
        assert await client.serves(PODS) and await client.serves(LEASES)
        assert not await client.serves(Resource("nobody.example", "v1", "things", "Thing"))
