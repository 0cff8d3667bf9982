"""An operator that looks after several chosen namespaces, and after nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from rayfleet.runtime.manager import ManagerSettings
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.nouns import thing
from tests.runtime.test_manager import kubelet, status
from tests.runtime.things import managing

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


async def test_probes_may_have_an_address_without_metrics(api: FakeApi) -> None:
    async with managing(api, SETTINGS) as manager, aiohttp.ClientSession() as browser:
        await until(lambda: len(manager.health.ports) == 2)
        answers = []
        for port, path in zip((*manager.health.ports, manager.health.ports[1]), ("metrics", "metrics", "healthz"), strict=True):
            async with browser.get(f"http://127.0.0.1:{port}/{path}") as answer:
                answers.append(answer.status)
    assert answers == [200, 404, 200]
