from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from rayfleet.api.meta import PODS, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.runtime.informer import Informer
from tests.kube.fakeapi import FakeApi, Fault, line, running, until
from tests.runtime.clocks import ManualClock
from tests.runtime.nouns import THINGS, Pod, Thing, pod, thing


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        yield server


@asynccontextmanager
async def informing(api: FakeApi, resource: Any = PODS, type: Any = Pod, **options: Any) -> AsyncIterator[Informer[Any]]:
    async with Client(api.connection) as client:
        informer: Informer[Any] = Informer(client, resource, type, **options)
        informer.told = []  # type: ignore[attr-defined]
        informer.subscribe(lambda old, new: informer.told.append(change(old, new)))  # type: ignore[attr-defined]
        task = asyncio.create_task(informer.run())
        try:
            yield informer
        finally:
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()


def change(old: Any, new: Any) -> str:
    return f"+{new.metadata.name}" if old is None else f"-{old.metadata.name}" if new is None else f"~{new.metadata.name}"


def names(informer: Informer[Any]) -> set[str]:
    return {value.metadata.name for value in informer.values()}


def stored(api: FakeApi, plural: str = "pods") -> set[str]:
    return {value["metadata"]["name"] for value in api.store.items(plural, None)}


def fill(api: FakeApi, *more: str) -> None:
    for name in more:
        api.store.create("pods", "default", pod(name))


async def test_pages_then_a_watch_and_one_request_of_each(api: FakeApi) -> None:
    fill(api, *(f"pod-{number:04}" for number in range(1101)))
    async with informing(api) as informer:
        await informer.synced()
        assert len(informer.values()) == 1101
        fill(api, "late")
        api.store.patch("pods", "default", "late", {"status": {"phase": "Failed"}}, True)
        api.store.remove("pods", "default", "pod-0000")
        await until(lambda: informer.told[-3:] == ["+late", "~late", "-pod-0000"])
        assert informer.get("default", "late").status.phase == "Failed"
        assert informer.resource_version == str(api.store.version)
    assert len(api.seen("GET")) == 3 and len(api.seen("WATCH")) == 1
    assert "limit=500" in api.seen("GET")[0] and "resourceVersion=" not in api.seen("GET")[0]


async def test_objects_are_found_by_their_controller(api: FakeApi) -> None:
    for number in range(3):
        api.store.create("pods", "default", pod(f"a-{number}", owner="uid-a"))
    api.store.create("pods", "default", pod("b", owner="uid-b"))
    async with informing(api) as informer:
        await informer.synced()
        assert {item.metadata.name for item in informer.owned("uid-a")} == {"a-0", "a-1", "a-2"}
        api.store.remove("pods", "default", "a-1")
        api.store.remove("pods", "default", "b")
        await until(lambda: len(informer.owned("uid-a")) == 2 and not informer.owned("uid-b"))


async def test_only_what_the_selector_selects_is_watched(api: FakeApi) -> None:
    api.store.create("pods", "default", pod("ours", fleet="yes"))
    fill(api, "theirs")
    async with informing(api, labels="fleet=yes", namespace="default") as informer:
        await informer.synced()
        api.store.create("pods", "default", pod("ours-too", fleet="yes"))
        fill(api, "theirs-too")
        await until(lambda: names(informer) == {"ours", "ours-too"})
        assert "labelSelector=fleet%3Dyes" in api.seen("WATCH")[0] and "/namespaces/default/" in api.seen("WATCH")[0]


async def test_bookmarks_move_the_version_and_nothing_else(api: FakeApi) -> None:
    fill(api, "one")
    async with informing(api) as informer:
        await until(lambda: api.watchers)
        api.store.create("things", "default", thing("elsewhere"))
        api.bookmark("pods")
        await until(lambda: informer.resource_version == str(api.store.version))
        assert informer.told == ["+one"]


Trouble = Callable[[FakeApi], None]


def expired_event(api: FakeApi) -> None:
    api.store.compact()
    api.tell("pods", line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}))


def expired_answer(api: FakeApi) -> None:
    api.store.compact()
    api.tell("pods", None)


def cut_in_a_line(api: FakeApi) -> None:
    api.tell("pods", b'{"type":"ADDED","object":{"metadata":{"na')
    api.tell("pods", "cut")


def ended_in_a_line(api: FakeApi) -> None:
    api.tell("pods", b'{"type":"ADDED","obj')
    api.tell("pods", None)


def ended(api: FakeApi) -> None:
    api.tell("pods", None)


def nonsense(api: FakeApi) -> None:
    api.tell("pods", b'{"type":"WHAT"}\n')


@pytest.mark.parametrize(
    ("trouble", "lists"),
    [(expired_event, 2), (expired_answer, 2), (cut_in_a_line, 1), (ended_in_a_line, 1), (ended, 1), (nonsense, 1)],
)
async def test_after_trouble_the_copy_is_true_again(api: FakeApi, trouble: Trouble, lists: int) -> None:
    fill(api, "stays", "goes", "changes", "reborn")
    async with informing(api) as informer:
        await until(lambda: api.watchers)
        hold = asyncio.Event()
        api.faults.append(Fault("WATCH", hold=hold))
        if lists == 1:
            trouble(api)
            await until(lambda: not api.watchers)
        else:
            api.faults.append(Fault("GET", hold=hold))
            lost = list(api.store.listeners)
            api.store.listeners.clear()
        api.store.remove("pods", "default", "goes")
        api.store.patch("pods", "default", "changes", {"status": {"phase": "Failed"}}, True)
        api.store.remove("pods", "default", "reborn")
        fill(api, "reborn", "comes")
        if lists == 2:
            api.store.listeners.extend(lost)
            trouble(api)
        hold.set()
        await until(lambda: names(informer) == stored(api) and informer.get("default", "changes").status.phase == "Failed")
        await until(lambda: informer.told.count("+reborn") == 2)
        assert sorted(informer.told[4:]) == ["+comes", "+reborn", "-goes", "-reborn", "~changes"]
        assert informer.lists == lists


async def test_a_silent_watch_is_taken_up_where_it_stopped(api: FakeApi) -> None:
    fill(api, "one")
    async with informing(api, idle=0.1) as informer:
        await until(lambda: len(api.seen("WATCH")) >= 3)
        fill(api, "two")
        await until(lambda: names(informer) == {"one", "two"})
        assert informer.lists == 1


async def test_what_is_told_twice_or_late_is_told_once(api: FakeApi) -> None:
    fill(api, "one")
    first = line("ADDED", api.store.get("pods", "default", "one"))
    async with informing(api) as informer:
        await until(lambda: api.watchers)
        api.store.patch("pods", "default", "one", {"status": {"phase": "Failed"}}, True)
        api.tell("pods", first)
        api.tell("pods", line("DELETED", {"metadata": {"name": "one", "namespace": "default", "uid": "before", "resourceVersion": "50"}}))
        fill(api, "two")
        await until(lambda: "+two" in informer.told)
        assert informer.told == ["+one", "~one", "+two"]
        assert informer.resource_version == str(api.store.version)


async def test_a_server_restored_from_a_backup_is_listed_again(api: FakeApi) -> None:
    fill(api, "one", "lost")
    async with informing(api) as informer:
        await until(lambda: api.watchers)
        api.store.listeners.clear()
        api.store.remove("pods", "default", "lost")
        api.store.version = 3
        api.store.history.clear()
        api.store.patch("pods", "default", "one", {"status": {"phase": "Failed"}}, True)
        body = {"kind": "Status", "code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}
        api.tell("pods", line("ERROR", body))
        await until(lambda: names(informer) == {"one"} and informer.get("default", "one").status.phase == "Failed")
        assert informer.resource_version == "4"


async def test_a_resource_that_is_not_served_yet_is_waited_for(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    api.unserved.add("things")
    async with informing(api, THINGS, Thing) as informer:
        await until(lambda: len(api.seen("GET")) >= 3)
        assert not informer.has_synced
        api.unserved.clear()
        api.store.create("things", "default", thing("one"))
        await informer.synced()
        assert names(informer) == {"one"}
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["example.com/v1 Thing is not served by this API server; waiting until it is"]


async def test_an_object_that_cannot_be_read_spoils_nothing_else(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    bad = thing("bad") | {"spec": {"replicas": "three"}}
    api.store.create("things", "default", thing("good"))
    api.store.create("things", "default", bad)
    async with informing(api, THINGS, Thing) as informer:
        await until(lambda: api.watchers)
        assert names(informer) == {"good"}
        assert "$.spec.replicas" in caplog.text
        api.store.patch("things", "default", "bad", {"spec": {"replicas": 3}}, False)
        await until(lambda: names(informer) == {"good", "bad"})
        api.store.patch("things", "default", "good", {"spec": {"replicas": "many"}}, False)
        api.store.patch("things", "default", "bad", {"spec": {"replicas": 4}}, False)
        await until(lambda: informer.get("default", "bad").spec.replicas == 4)
        assert informer.get("default", "good").spec.replicas == 1
        api.store.remove("things", "default", "good")
        await until(lambda: names(informer) == {"bad"})


async def test_a_kind_may_decode_by_itself(api: FakeApi) -> None:
    class Broken(msgspec.Struct):
        metadata: ObjectMeta
        why: str = ""

    def decode(raw: bytes) -> Any:
        try:
            return msgspec.json.decode(raw, type=Thing)
        except msgspec.ValidationError as error:
            return Broken(msgspec.json.decode(raw, type=Broken).metadata, str(error))

    api.store.create("things", "default", thing("bad") | {"spec": {"replicas": "three"}})
    async with informing(api, THINGS, Thing, decode=decode) as informer:
        await until(lambda: api.watchers)
        assert "spec.replicas" in informer.get("default", "bad").why
        api.store.patch("things", "default", "bad", {"spec": {"replicas": 3}}, False)
        await until(lambda: isinstance(informer.get("default", "bad"), Thing))
        api.store.patch("things", "default", "bad", {"spec": {"replicas": "four"}}, False)
        await until(lambda: isinstance(informer.get("default", "bad"), Broken))
        api.bookmark("things")
        api.store.remove("things", "default", "bad")
        await until(lambda: not informer.values())
        assert informer.told == ["+bad", "~bad", "~bad", "-bad"]


async def test_a_subscriber_that_fails_hurts_nobody_else(api: FakeApi) -> None:
    fill(api, "one")
    async with Client(api.connection) as client:
        informer = Informer(client, PODS, Pod)
        heard: list[str] = []
        informer.subscribe(lambda old, new: 1 / 0)
        informer.subscribe(lambda old, new: heard.append(change(old, new)))
        task = asyncio.create_task(informer.run())
        await until(lambda: heard == ["+one"])
        task.cancel()


async def test_a_new_list_can_be_asked_for(api: FakeApi) -> None:
    fill(api, "one")
    async with informing(api) as informer:
        await informer.synced()
        await informer.refreshed()
        assert informer.lists == 2 and informer.told == ["+one"]
        await until(lambda: api.watchers)
        fill(api, "two")
        await until(lambda: names(informer) == {"one", "two"})


async def test_a_busy_or_broken_server_is_waited_for(api: FakeApi) -> None:
    fill(api, "one")
    api.faults += [
        Fault("GET", status=500),
        Fault("GET", raw=b"<html>"),
        Fault("WATCH", status=429, headers={"Retry-After": "0"}),
        Fault("WATCH", drop=True),
    ]
    async with informing(api) as informer:
        await until(lambda: api.watchers)
        assert names(informer) == {"one"} and informer.lists == 1


async def test_cached_objects_are_small_and_the_collector_is_back_afterwards(api: FakeApi) -> None:
    api.store.create("things", "default", thing("one"))
    api.store.create("things", "default", thing("two"))
    async with informing(api, THINGS, Thing) as informer:
        await informer.synced()
        one, two = informer.get("default", "one"), informer.get("default", "two")
        assert one.metadata.namespace is two.metadata.namespace
        assert bytes(one.spec.template) in (b'{"x":"y"}', b'{"x": "y"}')
        assert not gc.is_tracked(one)
    assert gc.isenabled()


async def test_what_is_not_required_and_may_not_be_listed_counts_as_nothing_until_it_may(api: FakeApi) -> None:
    fill(api, "a")
    api.faults.append(Fault("GET", "/pods", 403, "Forbidden", "pods is forbidden", times=2))
    async with informing(api, required=False) as informer:
        await informer.synced()
        await informer.refreshed()
        assert names(informer) == set()
        await until(lambda: names(informer) == {"a"})
        assert informer.told == ["+a"]


async def test_what_was_refused_is_asked_for_again_only_when_somebody_needs_it(api: FakeApi) -> None:
    fill(api, "a")
    api.faults.append(Fault("GET", "/pods", 404, "NotFound", "page not found", times=1))
    clock = ManualClock()
    async with Client(api.connection) as client, informing(api, required=False, on_demand=True, clock=clock) as informer:
        await informer.synced()
        await clock.advance(3600.0)
        for _ in range(3):  # whoever had asked by then would have been answered by now
            await client.list_page(PODS)
        assert informer.is_denied and names(informer) == set()
        informer.need()
        await client.list_page(PODS)
        await clock.advance(60.0)
        await until(lambda: names(informer) == {"a"})


async def test_what_is_required_is_waited_for(api: FakeApi) -> None:
    api.faults.append(Fault("GET", "/pods", 403, "Forbidden", "pods is forbidden", times=2))
    async with informing(api) as informer:
        await until(lambda: not api.faults[0].times)
        assert not informer.has_synced
        await informer.synced()
