"""Operators with a lease of the same name in another namespace."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.runtime.lease import Elector, LeaseSettings
from rayfleet.runtime.manager import ManagerSettings
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.clocks import ManualClock
from tests.runtime.test_health import ask
from tests.runtime.test_lease import advance
from tests.runtime.things import managing

NAME = "ray-operator-leader"
PEER = "kuberay-operator-7d9_1f"


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        yield server


@asynccontextmanager
async def electing(api: FakeApi, place: str, clock: Any, *watched: str) -> AsyncIterator[Elector]:
    async with Client(api.connection, timeout=20) as client:
        elector = Elector(client, LeaseSettings(place, identity=f"{place}-1", watched=watched), clock, dice=lambda: 0.5)
        task = asyncio.create_task(elector.run())
        try:
            yield elector
        finally:
            task.cancel()
            await asyncio.wait([task])


def take(api: FakeApi, now: float, place: str = "kuberay", **annotations: str) -> None:
    spec = {"holderIdentity": PEER, "leaseDurationSeconds": 15, "renewTime": stamp(now)}
    notes = {f"rayfleet.dev/{key}": value for key, value in annotations.items()}
    api.store.create("leases", place, {"metadata": {"name": NAME, "namespace": place, "annotations": notes}, "spec": spec})


def stamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def test_another_operator_that_lives_is_waited_for_and_named_and_one_that_ended_is_not(
    api: FakeApi, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    take(api, clock.time())
    async with electing(api, "ours", clock) as mine:
        for _ in range(6):
            await advance(clock, api, 10)
            api.store.patch("leases", "kuberay", NAME, {"spec": {"renewTime": stamp(clock.time())}}, False)
        assert not mine.held()
        assert f"the operator {PEER} holds the lease kuberay/{NAME}" in mine.waiting_for
        assert ("leases", "ours", NAME) not in api.store.objects, "nothing is taken while it is waited for"
        assert sum(PEER in record.message for record in caplog.records if record.levelno == logging.WARNING) == 1
        await advance(clock, api, 20)
        assert mine.held() and not mine.waiting_for


@pytest.mark.parametrize(
    ("ours", "theirs", "waits"),
    [
        ((), {}, True),
        (("a",), {}, True),
        (("a",), {"watches": "*"}, True),
        (("a",), {"watches": "b,c"}, False),
        (("a",), {"watches": "b, a"}, True),
        ((), {"watches": "b"}, True),
        (("a",), {"watches": "b", "holder": PEER}, False),
        (("a",), {"watches": "b", "holder": "who-was-before"}, True),
    ],
)
async def test_only_who_looks_after_the_same_is_waited_for(
    api: FakeApi, ours: tuple[str, ...], theirs: dict[str, str], waits: bool
) -> None:
    """What a lease says counts for the holder who said it, and what an administrator says for any."""
    clock = ManualClock()
    take(api, clock.time(), **theirs)
    async with electing(api, "ours", clock, *ours) as mine:
        await until(lambda: mine.held() or mine.waiting_for)
        assert bool(mine.waiting_for) == waits


async def test_of_two_of_ours_each_says_what_it_looks_after(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock, "a", "b") as one, electing(api, "two", clock, "c") as two:
        await until(lambda: one.held() and two.held())
        async with electing(api, "three", clock, "b", "c") as three:
            await until(lambda: three.waiting_for)
            assert not three.held()
        await one.release()
        notes = api.store.get("leases", "one", NAME)["metadata"]["annotations"]
        assert notes == {}, "its next holder may be another operator"


async def test_two_that_begin_at_the_same_moment_do_not_both_lead(api: FakeApi) -> None:
    clock = ManualClock()
    api.faults += [Fault("POST", "/namespaces/one/leases", hold=(gate := asyncio.Event()))]
    async with electing(api, "one", clock) as one:
        await until(lambda: api.seen("POST", "/namespaces/one/leases"))
        async with electing(api, "two", clock) as two:
            await until(two.held)
            gate.set()
            await until(lambda: one.waiting_for)
            assert two.held() and not one.held()


async def test_a_lease_that_died_long_ago_is_not_waited_for(api: FakeApi) -> None:
    """KubeRay does not give its lease up when it ends."""
    clock = ManualClock()
    take(api, clock.time())
    await clock.advance(3600)
    async with electing(api, "ours", clock) as mine:
        await until(mine.held)


async def test_who_may_not_look_elsewhere_says_so_once_and_looks_where_it_may(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    take(api, clock.time(), place="a")
    take(api, clock.time(), place="far")
    api.faults += [Fault("GET", "/v1/leases", 403, "Forbidden", times=100)]
    async with electing(api, "ours", clock, "a", "b") as mine:
        await until(lambda: mine.waiting_for)
        assert f"holds the lease a/{NAME}" in mine.waiting_for
        await advance(clock, api, 30)
        assert mine.held()
    assert len(api.seen("GET", "/v1/leases")) == 1
    assert sum("would not be seen" in record.message for record in caplog.records) == 1


async def test_a_lease_that_is_deleted_is_made_again(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "ours", clock) as mine:
        await until(mine.held)
        api.store.delete("leases", "ours", NAME, {})
        await advance(clock, api, 6)
        assert mine.held() and api.store.get("leases", "ours", NAME)["spec"]["holderIdentity"] == "ours-1"


async def test_the_probe_says_for_whom_it_waits_and_nothing_is_written(api: FakeApi) -> None:
    take(api, time.time())
    lease = LeaseSettings("ours", identity="ours-1")
    async with managing(api, ManagerSettings(identity="ours-1", lease=lease, health=("127.0.0.1", 0))) as manager:
        await until(lambda: manager.elector and manager.elector.waiting_for)
        await until(lambda: all(controller.informers[PODS].has_synced for controller in manager.controllers))
        status, text = await ask(manager.health, "readyz")
        assert status == 503 and text.startswith(f"waiting: the operator {PEER} holds the lease kuberay/{NAME}")
        assert not manager.may_write()
    assert ("leases", "ours", NAME) not in api.store.objects
