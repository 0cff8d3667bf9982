from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rayfleet.api.meta import ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.planning.plan import Event
from rayfleet.runtime.events import WINDOW, Recorder
from rayfleet.runtime.gate import Gate
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.clocks import ManualClock
from tests.runtime.nouns import THINGS

ROOM = 100
ABOUT = ObjectMeta(name="demo", namespace="team", uid="u1")
MADE = Event("Normal", "CreatedPod", "Created Pod demo-1: it was missing", "Create")


class Desk:
    def __init__(self, api: FakeApi, client: Client) -> None:
        self.api = api
        self.clock = ManualClock()
        self.counts: Counter[str] = Counter()
        self.open = True
        gate = Gate(client, is_open=lambda: self.open)
        self.recorder = Recorder(
            gate, instance="op-1", clock=self.clock, count_event=lambda outcome: self.counts.update([outcome]), room=ROOM
        )

    def tell(self, event: Event = MADE, about: ObjectMeta = ABOUT) -> None:
        self.recorder.record(THINGS, about, event)

    def stored(self) -> list[dict]:
        return self.api.store.items("events", None)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    async with running() as api, Client(api.connection) as client:
        made = Desk(api, client)
        task = asyncio.create_task(made.recorder.run())
        try:
            yield made
        finally:
            task.cancel()


async def test_an_event_says_what_happened_to_whom() -> None:
    async with desk() as d:
        d.tell()
        await d.recorder.flushed()
        (found,) = d.stored()
        assert found["regarding"] == {"apiVersion": "example.com/v1", "kind": "Thing", "namespace": "team", "name": "demo", "uid": "u1"}
        assert [found[field] for field in ("type", "reason", "note", "action")] == ["Normal", "CreatedPod", MADE.note, "Create"]
        assert (found["reportingController"], found["reportingInstance"]) == ("rayfleet", "op-1")
        assert found["eventTime"] == "2026-01-01T00:16:40.000000Z" and found["metadata"]["namespace"] == "team"


async def test_repeats_are_counted_with_one_write_in_five_minutes() -> None:
    async with desk() as d:
        for _ in range(10):
            d.tell()
            await d.clock.advance(20)
        await d.recorder.flushed()
        assert len(d.stored()) == 1 and "series" not in d.stored()[0] and not d.api.seen("PATCH")
        await d.clock.advance(WINDOW)
        await until(lambda: "series" in d.stored()[0])
        assert d.stored()[0]["series"] == {"count": 10, "lastObservedTime": "2026-01-01T00:19:40.000000Z"}
        await d.clock.advance(10 * WINDOW)
        assert len(d.api.seen("PATCH")) == 1 and d.clock.waiting == []
        d.tell()
        await until(lambda: len(d.stored()) == 2)
    assert d.counts == {"created": 2, "repeated": 1}


async def test_other_words_reasons_or_objects_are_other_events() -> None:
    async with desk() as d:
        d.tell()
        d.tell(Event("Normal", "CreatedPod", "other words"))
        d.tell(Event("Warning", "FailedToCreatePod", MADE.note))
        d.tell(about=ObjectMeta(name="demo", namespace="team", uid="u2"))
        await d.recorder.flushed()
        assert len(d.stored()) == 4


async def test_a_series_that_the_server_has_forgotten_is_told_afresh() -> None:
    async with desk() as d:
        d.tell()
        await d.recorder.flushed()
        d.api.store.remove("events", "team", d.stored()[0]["metadata"]["name"])
        d.tell()
        await d.clock.advance(WINDOW)
        await until(d.stored)
        assert d.stored()[0]["series"]["count"] == 2


async def test_telling_never_waits_and_what_is_too_much_is_dropped() -> None:
    async with desk() as d:
        held = asyncio.Event()
        d.api.faults.append(Fault("POST", "/events", hold=held, times=10**6))
        for number in range(ROOM + 50):
            d.tell(Event("Normal", "CreatedPod", f"number {number}"))
        assert d.counts["dropped"] == 50
        held.set()
        await d.recorder.flushed()
        assert len(d.stored()) == ROOM


async def test_refusals_end_and_a_busy_server_is_asked_again() -> None:
    async with desk() as d:
        d.api.faults += [Fault("POST", "/events", 403, "Forbidden"), Fault("POST", "/events", 404, "NotFound")]
        d.tell()
        await d.recorder.flushed()
        d.tell(Event("Normal", "B", "b"))
        await d.recorder.flushed()
        assert d.counts == {"refused": 2}
        d.api.faults[:] = [Fault("POST", "/events", 429, headers={"Retry-After": "3"})]
        d.tell(Event("Normal", "C", "c"))
        await until(lambda: d.clock.waiting == [3.0])
        await d.clock.advance(3)
        await d.recorder.flushed()
        d.open = False
        d.tell(Event("Normal", "D", "d"))
        await d.recorder.flushed()
        assert d.counts == {"refused": 2, "created": 1, "dropped": 1}
