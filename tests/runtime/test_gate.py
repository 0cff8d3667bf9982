from __future__ import annotations

import asyncio

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.permit import Shut
from rayfleet.runtime.gate import Gate, Write
from tests.kube.fakeapi import Fault, running, until
from tests.runtime.nouns import pod


async def test_a_write_that_waits_for_a_connection_is_not_sent_once_the_gate_is_shut() -> None:
    is_open = True
    async with running() as api, Client(api.connection, pool=1) as client:
        gate = Gate(client, is_open=lambda: is_open)
        held = asyncio.Event()
        api.faults.append(Fault("POST", "/pods", hold=held))
        writes = [asyncio.create_task(gate.send(Write("create", PODS, "default", name, pod(name)))) for name in ("sent", "waits")]
        await until(lambda: len(api.seen("POST")) == 1)
        is_open = False
        held.set()
        await writes[0]
        with pytest.raises(Shut):
            await writes[1]
        is_open = True
        await gate.send(Write("create", PODS, "default", "later", pod("later")))
        assert {item["metadata"]["name"] for item in api.store.items("pods", None)} == {"sent", "later"}
        assert len(api.seen("POST")) == 2


async def test_a_write_that_a_busy_server_put_off_is_not_sent_again_once_the_gate_is_shut() -> None:
    is_open = True
    async with running() as api, Client(api.connection) as client:
        gate = Gate(client, is_open=lambda: is_open)
        uid = api.store.create("pods", "default", pod("a"))["metadata"]["uid"]
        api.faults.append(Fault("DELETE", "/pods", 429, "TooManyRequests", headers={"Retry-After": "0.1"}, times=1))
        delete = asyncio.create_task(gate.send(Write("delete", PODS, "default", "a", uid=uid)))
        await until(lambda: len(api.seen("DELETE")) == 1)
        is_open = False
        with pytest.raises(Shut):
            await delete
        assert len(api.seen("DELETE")) == 1
