"""Our client and informer through the faults of an API server, on the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from rayfleet.api.meta import CONFIGMAPS, PODS
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import AlreadyExists, Forbidden, ServerError, TooManyRequests, Unreachable
from rayfleet.runtime.informer import Informer
from tests.apiserver.faults import Fault, Faults
from tests.apiserver.manifests import configmap, pod
from tests.kube.fakeapi import until
from tests.runtime.nouns import Pod


@asynccontextmanager
async def faulty() -> AsyncIterator[tuple[Client, Faults]]:
    faults = Faults()
    runner = web.AppRunner(faults.around(ApiServer(Store()).app()), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with Client(Connection(f"http://127.0.0.1:{runner.addresses[0][1]}")) as client:
            yield client, faults
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(429, "TooManyRequests", "POST", headers={"Retry-After": "7"}), TooManyRequests),
        (Fault(403, "Forbidden", "POST"), Forbidden),
        (Fault(500, "InternalError", "POST"), ServerError),
        (Fault(504, "Timeout", "POST"), ServerError),
    ],
)
async def test_a_refused_write_says_why_and_wrote_nothing(fault: Fault, error: type[Exception]) -> None:
    async with faulty() as (client, faults):
        faults.add(fault)
        with pytest.raises(error) as refused:
            await client.create(CONFIGMAPS, configmap("a"), "default")
        assert getattr(refused.value, "retry_after", None) == (7.0 if fault.status == 429 else None)
        assert (await client.create(CONFIGMAPS, configmap("a"), "default"))["metadata"]["name"] == "a"


async def test_a_write_whose_answer_is_lost_was_carried_out() -> None:
    async with faulty() as (client, faults):
        faults.add(Fault(0, "", "POST", late=True))
        with pytest.raises(Unreachable):
            await client.create(CONFIGMAPS, configmap("a"), "default")
        with pytest.raises(AlreadyExists):
            await client.create(CONFIGMAPS, configmap("a"), "default")


@pytest.mark.parametrize(
    ("fault", "lists"),
    [
        (Fault(429, "TooManyRequests", text="watch=", headers={"Retry-After": "0"}), 1),
        (Fault(503, "ServiceUnavailable", text="watch=", times=2), 1),
        (Fault(410, "Expired", text="watch="), 2),
        (Fault(410, "Expired", text="watch=", streamed=True), 2),
        (Fault(500, "InternalError", text="limit="), 1),
    ],
    ids=["429", "503 twice", "410", "410 in the stream", "500 for the list"],
)
async def test_an_informer_ends_with_the_truth(fault: Fault, lists: int) -> None:
    async with faulty() as (client, faults):
        faults.add(fault)
        informer: Informer[Any] = Informer(client, PODS, Pod)
        running = asyncio.create_task(informer.run())
        try:
            await client.create(PODS, pod("early"), "default")
            await until(lambda: fault.met == fault.times)
            await client.create(PODS, pod("late"), "default")
            await until(lambda: {each.metadata.name for each in informer.values()} == {"early", "late"})
            assert informer.lists == lists
        finally:
            running.cancel()
