"""An operator that looks after several chosen namespaces, and after nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from rayfleet.api.meta import Key
from rayfleet.runtime.manager import ManagerSettings
from rayfleet.runtime.reader import Reader
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.nouns import thing
from tests.runtime.test_manager import kubelet, status
from tests.runtime.things import THING_KIND, managing, observe

SETTINGS = ManagerSettings(identity="test", namespaces=("one", "two"), health=("127.0.0.1", 0), probes=("127.0.0.1", 0))


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        kubelet(server)
        yield server


async def test_only_the_namespaces_that_are_named_are_looked_after(api: FakeApi) -> None:
    for place in ("one", "two", "three"):
        api.store.create("things", place, thing("a", replicas=2))
    async with managing(api, SETTINGS) as manager:
        for place in ("one", "two"):
            await until(lambda place=place: status(api, "a", place).get("phase") == "Ready")
        assert not status(api, "a", "three")
        asked = {path.split("?")[0] for method, path in api.requests if method == "GET"}
        assert not [path for path in asked if "/namespaces/" not in path]
        depth = 'rayfleet_cached_objects{kind="Pod"} 4.0'
        await until(lambda: depth in manager.metrics.text().decode())


async def test_a_namespace_that_may_not_be_read_holds_up_no_other(api: FakeApi) -> None:
    api.store.create("things", "two", thing("a", replicas=1))
    api.faults.append(Fault("GET", "/namespaces/one/things", 403, "Forbidden", times=1000))
    async with managing(api, SETTINGS):
        await until(lambda: status(api, "a", "two").get("phase") == "Ready")


class Oracle:
    """Somebody outside who serves both namespaces. `forgotten`: of whom it need not tell any more."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Key], None]] = []
        self.forgotten: list[Key] = []
        self.looked: list[Key] = []

    def subscribe(self, listener: Callable[[Key], None]) -> None:
        self.listeners.append(listener)

    def send(self, key: Key, target: Any, message: Any, told: Callable[[str], None]) -> None:
        raise AssertionError("nothing is sent")

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)

    def rest(self) -> None:
        pass

    async def observe(self, reader: Reader, key: Key, now: float) -> Any:
        self.looked.append(key)
        return await observe(reader, key, now)


async def test_what_is_heard_of_an_object_is_looked_at_where_it_is_and_forgotten_nowhere(api: FakeApi) -> None:
    api.store.create("things", "one", thing("a", replicas=1))
    oracle = Oracle()
    kind = replace(THING_KIND, observe=oracle.observe, outside=oracle)
    async with managing(api, SETTINGS, kind=kind):
        await until(lambda: status(api, "a", "one").get("phase") == "Ready")
        oracle.looked.clear()
        for tell in oracle.listeners:
            tell(Key("one", "a"))
        await until(lambda: oracle.looked)
    assert {*oracle.looked} == {Key("one", "a")}
    assert oracle.forgotten == []


async def test_probes_may_have_an_address_without_metrics(api: FakeApi) -> None:
    async with managing(api, SETTINGS) as manager, aiohttp.ClientSession() as browser:
        await until(lambda: len(manager.health.ports) == 2)
        answers = []
        for port, path in zip((*manager.health.ports, manager.health.ports[1]), ("metrics", "metrics", "healthz"), strict=True):
            async with browser.get(f"http://127.0.0.1:{port}/{path}") as answer:
                answers.append(answer.status)
    assert answers == [200, 404, 200]
