from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest

from rayfleet.api.meta import PODS, Key
from rayfleet.planning.plan import Plan
from rayfleet.runtime.controller import CALM
from rayfleet.runtime.lease import LeaseSettings
from rayfleet.runtime.manager import Manager, ManagerSettings
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.nouns import THINGS, Pod, pod, thing
from tests.runtime.things import THING_KIND, Crash, Seen, crash_at, managing, plan

EVENTS_OF = "events.k8s.io"


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        kubelet(server)
        yield server


def kubelet(api: FakeApi) -> None:
    """Pods run as soon as they are created."""

    def run(_: int, kind: str, plural: str, value: dict, __: dict | None) -> None:
        if plural == "pods" and kind == "ADDED" and not value.get("status"):
            meta = value["metadata"]
            where = ("pods", meta["namespace"], meta["name"])
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: where in api.store.objects and api.store.patch(*where, {"status": {"phase": "Running"}}, True))

    api.store.listeners.append(run)


def pods(api: FakeApi, namespace: str | None = None) -> list[str]:
    return [item["metadata"]["name"] for item in api.store.items("pods", namespace)]


def status(api: FakeApi, name: str, namespace: str = "default") -> dict:
    return api.store.objects["things", namespace, name].get("status") or {}


def events(api: FakeApi) -> list[tuple[str, str]]:
    return [(item["reason"], item["note"]) for item in api.store.items("events", None)]


def writes(api: FakeApi) -> list[tuple[str, str]]:
    return [(verb, path) for verb, path in api.requests if verb in ("POST", "PUT", "PATCH", "DELETE") and EVENTS_OF not in path]


async def test_a_thing_gets_its_pods_and_then_silence(api: FakeApi) -> None:
    api.store.create("things", "default", thing("a", replicas=3))
    async with managing(api) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        assert pods(api) == ["a-0", "a-1", "a-2"]
        await manager.recorder.flushed()
        assert ("CreatedPod", "Created 3 Pods (a-0, a-1, a-2): it is missing") in events(api)
        before = len(api.requests)
        await manager.recorder.flushed()
        controller = manager.controllers[0]
        controller._queue.add(Key("default", "a"))
        await until(lambda: not len(controller._queue) and not controller._running)
        assert len(api.requests) == before
        assert len(api.seen("DELETE")) == 0 and len(writes(api)) <= 3 + 2
        assert {path for path in api.seen("WATCH") if "pods" in path and "labelSelector=of%3Dthing" in path}


def lives_on(old: Pod | None, new: Pod | None) -> bool:
    return old is not None and new is not None and new.status.phase != "Failed"


async def test_what_goes_well_is_looked_at_together_and_what_fails_at_once(api: FakeApi) -> None:
    looks: list[list[str]] = []

    def counting(seen: Seen) -> Plan:
        looks.append([pod.status.phase for pod in seen.pods])
        return plan(seen)

    patient = replace(THING_KIND, children=(replace(THING_KIND.children[0], calm=lives_on),), plan=counting)
    api.store.create("things", "default", thing("a", replicas=20))
    async with managing(api, kind=patient) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        assert len(looks) <= 6  # without it one for each Pod, and more
        looks.clear()
        asked = manager._clock.monotonic()
        api.store.patch("pods", "default", "a-0", {"status": {"phase": "Failed"}}, True)
        await until(lambda: any("Failed" in phases for phases in looks))
        assert manager._clock.monotonic() - asked < CALM


async def test_an_own_status_that_comes_back_is_not_looked_at(api: FakeApi) -> None:
    looks: list[str] = []

    def counting(seen: Seen) -> Plan:
        looks.append(seen.thing.metadata.resource_version)
        return plan(seen)

    api.store.create("things", "default", thing("a", replicas=0))
    async with managing(api, kind=replace(THING_KIND, plan=counting)) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        version = api.store.get("things", "default", "a")["metadata"]["resourceVersion"]
        cache = manager.controllers[0].informers[THINGS]
        await until(lambda: cache.resource_version == version)
        api.store.patch("things", "default", "a", {"metadata": {"annotations": {"by": "a user"}}}, False)
        await until(lambda: len(looks) == 2)
        assert version not in looks


async def test_what_does_not_concern_us_is_not_looked_at_until_it_does_and_once_when_it_no_longer_does(api: FakeApi) -> None:
    looks: list[int] = []

    def counting(seen: Seen) -> Plan:
        looks.append(seen.thing.spec.replicas)
        return Plan()

    few = replace(THING_KIND, plan=counting, concerns=lambda thing: thing.spec.replicas < 9)
    api.store.create("things", "default", thing("a", replicas=9))
    async with managing(api, kind=few) as manager:
        controller = manager.controllers[0]
        api.store.create("things", "default", thing("t", replicas=10))
        api.store.create("pods", "default", pod("t-0", api.store.get("things", "default", "t")["metadata"]["uid"], of="thing"))
        await until(lambda: len(controller.informers[PODS].values()) == 1)
        for replicas in (8, 11, 12):
            api.store.patch("things", "default", "t", {"spec": {"replicas": replicas}}, False)
            await until(lambda: controller.informers[THINGS].get("default", "t").spec.replicas == replicas)  # noqa: B023
            await until(lambda: not controller._queue and not controller._running)
        assert looks == [8, 11]


async def test_scale_and_deletion(api: FakeApi) -> None:
    api.store.create("things", "default", thing("a", replicas=3))
    async with managing(api):
        await until(lambda: status(api, "a").get("phase") == "Ready")
        api.store.patch("things", "default", "a", {"spec": {"replicas": 1}}, False)
        await until(lambda: pods(api) == ["a-0"] and status(api, "a").get("pods") == 1)
        api.store.patch("things", "default", "a", {"spec": {"replicas": 2}}, False)
        await until(lambda: status(api, "a").get("pods") == 2)
        api.store.remove("things", "default", "a")
        await until(lambda: not pods(api))


async def test_fifty_owners_with_late_watches_get_exactly_what_they_want(api: FakeApi) -> None:
    api.delays["pods"] = 0.002
    for number in range(50):
        api.store.create("things", f"ns-{number % 5}", thing(f"t{number}", replicas=3, namespace=f"ns-{number % 5}"))
    async with managing(api):
        await until(lambda: all(status(api, f"t{n}", f"ns-{n % 5}").get("phase") == "Ready" for n in range(50)), 30)
    assert len(api.seen("POST", "/pods")) == 150 and not api.seen("DELETE")
    assert len(pods(api)) == 150


async def test_a_failed_pod_is_replaced_with_more_patience_each_time(api: FakeApi) -> None:
    api.store.create("things", "default", thing("a", replicas=1))
    async with managing(api) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        first = api.store.get("pods", "default", "a-0")["metadata"]["uid"]
        api.store.patch("pods", "default", "a-0", {"status": {"phase": "Failed"}}, True)
        await until(lambda: any(item["metadata"]["uid"] != first for item in api.store.items("pods", "default")))
        await until(lambda: status(api, "a").get("phase") == "Ready" and [item.get("status") for item in api.store.items("pods", None)])
        assert api.store.get("things", "default", "a")["metadata"]["annotations"] == {"lives": "1"}
        api.store.patch("pods", "default", "a-0", {"status": {"phase": "Failed"}}, True)
        await until(lambda: status(api, "a").get("phase") == "Pending" and not pods(api))
        held = manager.controllers[0]._backoffs.of(Key("default", "a"), manager._clock.monotonic())["pods"]
        assert held.attempts == 2 and held.message == "it failed" and held.event == ""
        owner = api.store.get("things", "default", "a")["metadata"]["uid"]
        await until(lambda: manager.controllers[0]._reader.gone(owner) == {"a-0"})  # its cache hears of it after the API


async def test_a_foreign_pod_of_the_same_name_is_left_alone_and_told_of(api: FakeApi) -> None:
    api.store.create("pods", "default", pod("a-0", owner="somebody", of="else"))
    api.store.create("things", "default", thing("a", replicas=2))
    async with managing(api) as manager:
        await until(lambda: "NameConflict" in status(api, "a").get("trouble", ""))
        await manager.recorder.flushed()
        assert any(reason == "NameConflict" and "belongs to somebody else" in note for reason, note in events(api))
        assert b'rayfleet_backoff_scopes{kind="Thing",name="a",namespace="default"} 1.0' in manager.metrics.text()
        api.store.remove("things", "default", "a")
        await until(lambda: b"rayfleet_backoff_scopes{" not in manager.metrics.text())
    assert len(api.seen("POST", "/pods")) == 1 and pods(api) == ["a-0"] and not api.seen("DELETE")


async def test_a_refused_create_is_a_status_and_not_a_storm(api: FakeApi) -> None:
    api.faults.append(Fault("POST", "/pods", 403, "Forbidden", "exceeded quota: small", times=100))
    api.store.create("things", "default", thing("a", replicas=8))
    api.store.create("things", "default", thing("b", replicas=0))
    async with managing(api) as manager:
        await until(lambda: "exceeded quota: small" in status(api, "a").get("trouble", ""))
        await until(lambda: status(api, "b").get("phase") == "Ready")
        await manager.recorder.flushed()
        assert ("FailedToCreatePod", "Pod a-0: exceeded quota: small") in events(api)
        assert len(api.seen("POST", "/pods")) == 1


async def test_an_answer_that_is_lost_makes_no_second_pod(api: FakeApi) -> None:
    api.faults.append(Fault("POST", "/pods", lost=True))
    api.store.create("things", "default", thing("a", replicas=1))
    async with managing(api):
        await until(lambda: status(api, "a").get("pods") == 1)
        assert pods(api) == ["a-0"]


async def test_a_create_from_a_stale_view_ends_in_waiting(api: FakeApi) -> None:
    """Another process, or an earlier life, has created the Pod; the watch has not told yet."""
    api.store.create("things", "default", thing("a", replicas=1))
    uid = api.store.get("things", "default", "a")["metadata"]["uid"]
    held = asyncio.Event()
    api.faults.append(Fault("WATCH", "/pods", hold=held))
    async with managing(api):
        api.faults.append(Fault("POST", "/pods", 409, "AlreadyExists"))
        await until(lambda: api.seen("POST", "/pods") or api.seen("WATCH", "/pods"))
        if not api.seen("POST", "/pods"):
            await until(lambda: api.seen("POST", "/pods"))
        if ("pods", "default", "a-0") not in api.store.objects:
            api.store.create("pods", "default", pod("a-0", owner=uid, of="thing"))
        held.set()
        await until(lambda: status(api, "a").get("phase") == "Ready")
        assert not status(api, "a")["trouble"] and len(api.seen("POST", "/pods")) <= 2


async def test_a_poisoned_object_delays_nobody_else(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    bad = thing("bad")
    bad["metadata"]["annotations"] = {"poison": "yes"}
    api.store.create("things", "default", bad)
    api.store.create("things", "default", thing("good"))
    async with managing(api):
        await until(lambda: status(api, "good").get("phase") == "Ready")
        await until(lambda: any(getattr(record, "object", "") == "default/bad" and record.exc_info for record in caplog.records))
        api.store.patch("things", "default", "bad", {"metadata": {"annotations": {"poison": None}}}, False)
        await until(lambda: status(api, "bad").get("phase") == "Ready")


async def test_a_status_that_is_refused_is_tried_less_and_less_often(api: FakeApi) -> None:
    api.store.create("things", "default", thing("a"))
    api.store.create("things", "default", thing("b"))
    api.faults.append(Fault("PATCH", "/things/a/status", 422, "Invalid", "pods: no integer", times=1000))
    async with managing(api):
        await until(lambda: len(api.seen("PATCH", "/things/a/status")) >= 3)
        assert status(api, "b")["phase"] == "Ready"
        assert len(api.seen("PATCH", "/things/a/status")) <= 4


async def test_conflicts_are_silent(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    api.store.create("things", "default", thing("a"))
    api.faults.append(Fault("PATCH", "/status", 409, "Conflict", times=2))
    async with managing(api) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        await manager.recorder.flushed()
    assert [reason for reason, _ in events(api)] == ["CreatedPod"]
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_warnings_of_the_api_server_become_one_event(api: FakeApi) -> None:
    api.warnings = ['unknown field \\"spec.containers[0].imagee\\"']
    api.store.create("things", "default", thing("a", replicas=5))
    async with managing(api) as manager:
        await until(lambda: status(api, "a").get("phase") == "Ready")
        await manager.recorder.flushed()
    told = [note for reason, note in events(api) if reason == "APIWarning"]
    assert told == ['The API server warns of Pod: unknown field "spec.containers[0].imagee"']


async def test_a_kind_that_is_not_served_yet_is_waited_for(api: FakeApi) -> None:
    api.unserved.add("things")
    async with managing(api, ManagerSettings(health=("127.0.0.1", 0))) as manager:
        await until(lambda: len(api.seen("GET", "/things")) >= 2)
        async with aiohttp.ClientSession() as browser:
            async with browser.get(f"http://127.0.0.1:{manager.health.port}/readyz") as answer:
                assert answer.status == 503 and "things" in await answer.text()
            api.unserved.clear()
            api.store.create("things", "default", thing("a"))
            await until(lambda: status(api, "a").get("phase") == "Ready")
            for path in ("readyz", "healthz"):
                async with browser.get(f"http://127.0.0.1:{manager.health.port}/{path}") as answer:
                    assert (answer.status, await answer.text()) == (200, "ok\n")
            async with browser.get(f"http://127.0.0.1:{manager.health.port}/metrics") as answer:
                text = await answer.text()
    for line in ('rayfleet_writes_total{kind="Pod",outcome="done",verb="create"} 1.0', 'rayfleet_cached_objects{kind="Pod"} 1.0'):
        assert line in text


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 6))
async def test_a_crash_between_any_two_writes_changes_nothing_but_time(api: FakeApi, number: int, when: str) -> None:
    api.store.create("things", "default", thing("a", replicas=3))
    manager = Manager(api.connection, [THING_KIND], ManagerSettings(identity="first"), hook=crash_at(number, when))
    life = asyncio.create_task(manager.run())
    with pytest.raises(Crash):
        await life
    async with managing(api):
        await until(lambda: status(api, "a").get("phase") == "Ready")
    assert pods(api) == ["a-0", "a-1", "a-2"]
    assert sum(1 for _, kind, plural, _, _ in api.store.history if (kind, plural) == ("ADDED", "pods")) == 3


async def test_two_leaders_at_once_make_nothing_twice(api: FakeApi) -> None:
    for number in range(10):
        api.store.create("things", "default", thing(f"t{number}", replicas=3))
    api.delays["pods"] = 0.002
    async with managing(api), managing(api):
        await until(lambda: all(status(api, f"t{number}").get("phase") == "Ready" for number in range(10)), 30)
    assert sum(1 for _, kind, plural, _, _ in api.store.history if (kind, plural) == ("ADDED", "pods")) == 30
    assert not api.seen("DELETE") and not any("Conflict" in reason for reason, _ in events(api))
    assert not any(status(api, f"t{number}")["trouble"] for number in range(10))


async def test_a_write_that_hangs_does_not_keep_it_from_stopping(api: FakeApi) -> None:
    api.faults.append(Fault("POST", "/pods", hold=asyncio.Event(), times=100))
    api.store.create("things", "default", thing("a"))
    manager = Manager(api.connection, [THING_KIND], ManagerSettings(identity="test"))
    task = asyncio.create_task(manager.run())
    await until(lambda: api.seen("POST", "/pods"))
    manager.stop()
    await asyncio.wait_for(task, 60)


async def test_it_stops_in_order_and_writes_nothing_afterwards(api: FakeApi) -> None:
    api.store.create("things", "default", thing("a", replicas=2))
    async with managing(api):
        await until(lambda: status(api, "a").get("phase") == "Ready")
    before = len(api.requests)
    api.store.create("things", "default", thing("b"))
    assert len(api.requests) == before and not status(api, "b")
    assert json.dumps(events(api)).count("CreatedPod") == 1


@pytest.mark.parametrize("elected", [True, False])
async def test_only_who_was_elected_knows_that_he_was_alone_and_only_with_what_came_after(api: FakeApi, elected: bool) -> None:
    api.store.create("things", "default", thing("before", replicas=0))
    lease = LeaseSettings(namespace="default", identity="me") if elected else None
    async with managing(api, ManagerSettings(identity="me", lease=lease)) as manager:
        await until(lambda: status(api, "before").get("phase") == "Ready")
        api.store.create("things", "default", thing("after", replicas=0))
        await until(lambda: status(api, "after").get("phase") == "Ready")
        alone = {
            name: manager.controllers[0]._reader.alone(api.store.get("things", "default", name)["metadata"]["uid"])
            for name in ("before", "after")
        }
    assert alone == {"before": False, "after": elected}
