"""The hollow kubelet, against the embedded API."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from rayfleet.api.meta import PODS
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.hollow import ANNOTATION, run_hollow
from tests.kubelet.world import is_true, pod, until


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    """Of an embedded API with a hollow kubelet."""
    runner = web.AppRunner(ApiServer(Store(":memory:")).app(), shutdown_timeout=0.1)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    async with Client(Connection(f"http://127.0.0.1:{listener.getsockname()[1]}")) as client:
        hollow = asyncio.create_task(run_hollow(client, delay=0.01))
        yield client
        hollow.cancel()
        await asyncio.gather(hollow, return_exceptions=True)
    await runner.cleanup()


async def reaches(client: Client, phase: str, name: str = "a") -> dict[str, Any]:
    async def there() -> dict[str, Any] | None:
        found = await client.get(PODS, name, "default")
        return found if found["status"].get("phase") == phase else None

    return await until(f"{name} is {phase}", there)


def hollow_pod(wish: str = "", name: str = "a", **spec: Any) -> dict[str, Any]:
    body = pod("anything", name, **spec)
    body["metadata"]["annotations"] = {ANNOTATION: wish} if wish else {}
    return body


async def test_a_pod_becomes_ready_with_an_address_of_its_own(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(PODS, hollow_pod(name=name), "default")
    first, second = await reaches(client, "Running", "a"), await reaches(client, "Running", "b")
    assert first["spec"]["nodeName"] == "hollow"
    assert is_true("Ready", first["status"])
    assert first["status"]["containerStatuses"][0]["state"]["running"]
    assert first["status"]["podIP"] != second["status"]["podIP"]


@pytest.mark.parametrize(("wish", "code"), [("fail", 1), ("fail:37", 37)])
async def test_an_annotation_lets_a_pod_fail(client: Client, wish: str, code: int) -> None:
    await client.create(PODS, hollow_pod(wish), "default")
    found = await reaches(client, "Failed")
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


async def test_a_running_pod_fails_when_the_annotation_comes_later(client: Client) -> None:
    await client.create(PODS, hollow_pod(), "default")
    await reaches(client, "Running")
    await client.patch(PODS, "a", "default", {"metadata": {"annotations": {ANNOTATION: "fail"}}})
    await reaches(client, "Failed")


async def test_a_pod_that_shall_be_pending_is_left_alone(client: Client) -> None:
    await client.create(PODS, hollow_pod("pending"), "default")
    await client.create(PODS, hollow_pod(name="later"), "default")
    await reaches(client, "Running", "later")
    assert "nodeName" not in (await client.get(PODS, "a", "default"))["spec"]


async def test_a_pod_of_a_job_succeeds(client: Client) -> None:
    await client.create(PODS, hollow_pod(restartPolicy="Never", labels={"job-name": "j"}), "default")
    found = await reaches(client, "Succeeded")
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


async def test_deletion_is_honoured(client: Client) -> None:
    await client.create(PODS, hollow_pod(), "default")
    await reaches(client, "Running")
    await client.delete(PODS, "a", "default")

    async def gone() -> bool:
        try:
            await client.get(PODS, "a", "default")
        except NotFound:
            return True
        return False

    await until("the Pod is gone", gone)
