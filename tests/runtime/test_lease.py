from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rayfleet.kube.client import Client
from rayfleet.runtime.lease import Elector, LeaseSettings
from rayfleet.runtime.manager import ManagerSettings
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.clocks import ManualClock
from tests.runtime.nouns import thing
from tests.runtime.things import managing

QUICK = {"duration": 1.0, "renew_deadline": 0.7, "retry": 0.1}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        yield server


@asynccontextmanager
async def electing(api: FakeApi, name: str, clock: Any) -> AsyncIterator[Elector]:
    async with Client(api.connection, timeout=20) as client:
        elector = Elector(client, LeaseSettings("ray-system", identity=name), clock, dice=lambda: 0.5)
        task = asyncio.create_task(elector.run())
        try:
            yield elector
        finally:
            task.cancel()
            await asyncio.wait([task])


def lease(api: FakeApi) -> dict[str, Any]:
    return api.store.get("leases", "ray-system", "ray-operator-leader")["spec"]


async def advance(clock: ManualClock, api: FakeApi, seconds: float) -> None:
    """Time passes in small steps, with room for what goes over the network in each."""
    for _ in range(round(seconds)):
        await clock.advance(1)
        for _ in range(20):
            await asyncio.sleep(0.001)


async def test_the_first_leads_and_the_second_takes_over_when_the_lease_has_run_out(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "two-to-be", clock) as second, electing(api, "one", clock) as first:
        await until(lambda: first.held() or second.held())
        leader, other = (first, second) if first.held() else (second, first)
        await advance(clock, api, 60)
        assert leader.held() and not other.held()
        assert lease(api)["holderIdentity"] == leader.settings.identity and lease(api)["leaseTransitions"] == 0
        assert (lease(api)["leaseDurationSeconds"], lease(api)["renewTime"][-1]) == (15, "Z")


async def test_a_leader_that_cannot_renew_stops_in_time_by_its_own_clock(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock) as one:
        await until(one.held)
        never = asyncio.Event()
        api.faults += [Fault("PUT", "/leases", hold=never, times=100), Fault("GET", "/leases", hold=never, times=100)]
        await advance(clock, api, 9)
        assert one.held()
        async with electing(api, "two", clock) as two:
            await advance(clock, api, 2)
            assert not one.held() and not two.held()
            await asyncio.wait_for(one.lost(), 60)
        never.set()


async def test_another_waits_the_whole_duration_from_the_last_change_that_it_saw(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock) as one:
        await until(one.held)
    async with electing(api, "two", clock) as two:
        await advance(clock, api, 14)
        assert not two.held()
        await advance(clock, api, 5)
        assert two.held() and lease(api)["holderIdentity"] == "two" and lease(api)["leaseTransitions"] == 1


async def test_a_lease_that_is_given_up_is_taken_at_once(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock) as one:
        await until(one.held)
        await one.release()
        assert not one.held() and lease(api)["holderIdentity"] == ""
        async with electing(api, "two", clock) as two:
            await until(two.held)


async def test_a_renewal_whose_answer_was_lost_or_met_a_conflict_is_no_loss(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock) as one:
        await until(one.held)
        api.faults += [Fault("PUT", "/leases", lost=True), Fault("PUT", "/leases", 409, "Conflict"), Fault("PUT", "/leases", status=500)]
        await advance(clock, api, 30)
        assert one.held() and lease(api)["leaseTransitions"] == 0 and not [fault for fault in api.faults if fault.times]


async def test_a_lease_that_was_taken_from_us_is_noticed(api: FakeApi) -> None:
    clock = ManualClock()
    async with electing(api, "one", clock) as one:
        await until(one.held)
        api.store.patch("leases", "ray-system", "ray-operator-leader", {"spec": {"holderIdentity": "thief"}}, False)
        await advance(clock, api, 5)
        assert not one.held()


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="retry < renew deadline < duration"):
        LeaseSettings("x", duration=10, renew_deadline=10)


async def test_two_managers_share_the_work_by_turns(api: FakeApi) -> None:
    one = ManagerSettings(identity="one", lease=LeaseSettings("ray-system", identity="one", retry=0.1))
    two = ManagerSettings(identity="two", lease=LeaseSettings("ray-system", identity="two", retry=0.1))
    async with managing(api, two) as second:
        async with managing(api, one) as first:
            await until(lambda: first.may_write() or second.may_write())
            if first.may_write():
                leader, other = first, second
            else:
                leader, other = second, first
            api.store.create("things", "default", thing("a", replicas=2))
            await until(lambda: len(api.store.items("pods", None)) == 2)
            assert b'verb="create"' in leader.metrics.text() and b'kind="Pod",outcome="done"' not in other.metrics.text()
        await until(second.may_write)
        api.store.patch("things", "default", "a", {"spec": {"replicas": 3}}, False)
        await until(lambda: len(api.store.items("pods", None)) == 3)
    assert len(api.seen("POST", "/pods")) == 3
    assert lease(api)["holderIdentity"] == ""


async def test_who_lost_the_lease_writes_no_more_and_begins_afresh_when_it_is_back(api: FakeApi) -> None:
    settings = ManagerSettings(identity="one", lease=LeaseSettings("ray-system", identity="one", **QUICK))
    async with managing(api, settings) as manager:
        await until(manager.may_write)
        held = asyncio.Event()
        api.faults += [Fault("PUT", "/leases", hold=held, times=100), Fault("GET", "/leases", hold=held, times=100)]
        await until(lambda: not manager.may_write())
        lists = len(api.seen("GET", "/things"))
        api.store.create("things", "default", thing("a", replicas=2))
        await asyncio.wait_for(manager.elector.lost(), 60)  # type: ignore[union-attr]
        assert not api.seen("POST", "/pods")
        api.faults.clear()
        held.set()
        await until(lambda: len(api.store.items("pods", None)) == 2)
        assert len(api.seen("GET", "/things")) > lists
