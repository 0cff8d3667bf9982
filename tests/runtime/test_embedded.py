"""The whole runtime against the project's own API server, with a real CRD, garbage collection and Leases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS, EVENTS, LEASES, PODS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError
from rayfleet.runtime.informer import Informer
from rayfleet.runtime.lease import LeaseSettings
from rayfleet.runtime.manager import Manager, ManagerSettings
from tests.kube.fakeapi import until
from tests.kube.test_embedded import embedded
from tests.runtime.nouns import THINGS, Pod, Thing, thing
from tests.runtime.things import THING_KIND

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


@asynccontextmanager
async def world(settings: ManagerSettings) -> AsyncIterator[tuple[Client, Manager, Informer[Thing], Informer[Pod]]]:
    """The API, an operator, somebody who watches, and a kubelet that says of each Pod that it runs."""
    async with embedded() as client:
        manager = Manager(client.connection, [THING_KIND], settings)
        operator = asyncio.create_task(manager.run())
        things, pods = Informer(client, THINGS, Thing), Informer(client, PODS, Pod)
        started: list[asyncio.Task[Any]] = []
        pods.subscribe(lambda old, new: started.append(asyncio.create_task(start(client, new))) if new and not old else None)
        watching = [asyncio.create_task(things.run()), asyncio.create_task(pods.run())]
        try:
            yield client, manager, things, pods
        finally:
            manager.stop()
            await operator
            for task in watching:
                task.cancel()


async def start(client: Client, pod: Pod) -> None:
    meta = pod.metadata
    try:
        await client.patch(PODS, meta.name, meta.namespace, {"status": {"phase": "Running"}}, subresource="status")
    except ApiError:
        return  # it is gone already


def requests(manager: Manager) -> list[str]:
    return [line for line in manager.metrics.text().decode().splitlines() if line.startswith("rayfleet_requests_total")]


def phase(things: Informer[Thing], name: str) -> str:
    found = things.get("default", name)
    return found.status.phase if found else ""


async def test_from_a_crd_that_comes_late_to_garbage_collection() -> None:
    async with world(ManagerSettings(identity="one", lease=LeaseSettings("default", identity="one"))) as (client, manager, things, pods):
        await until(manager.may_write)
        await client.create(CUSTOMRESOURCEDEFINITIONS, CRD)
        await until(lambda: things.has_synced)
        await client.create(THINGS, thing("a", replicas=3))
        await until(lambda: phase(things, "a") == "Ready")
        assert {pod.metadata.name for pod in pods.values()} == {"a-0", "a-1", "a-2"}
        await manager.recorder.flushed()
        assert "CreatedPod" in {event["reason"] for event in await client.list(EVENTS, "default")}
        assert (await client.get(LEASES, "ray-operator-leader", "default"))["spec"]["holderIdentity"] == "one"
        await client.patch(THINGS, "a", "default", {"spec": {"replicas": 1}})
        await until(lambda: len(pods.values()) == 1)
        await client.delete(THINGS, "a", "default")
        await until(lambda: not things.values() and not pods.values())


async def test_one_name_applied_and_deleted_again_and_again() -> None:
    async with world(ManagerSettings(identity="one")) as (client, _, things, pods):
        await client.create(CUSTOMRESOURCEDEFINITIONS, CRD)
        await until(lambda: things.has_synced)
        for _ in range(10):
            await client.create(THINGS, thing("a", replicas=2))
            await until(lambda: phase(things, "a") == "Ready")
            await client.delete(THINGS, "a", "default")
            await until(lambda: things.get("default", "a") is None)
        await until(lambda: not pods.values())


async def test_fifty_owners_and_then_silence() -> None:
    async with world(ManagerSettings(identity="one")) as (client, manager, things, pods):
        await client.create(CUSTOMRESOURCEDEFINITIONS, CRD)
        await asyncio.gather(*(client.create(THINGS, thing(f"t{number}", replicas=3)) for number in range(50)))
        await until(lambda: len(things.values()) == 50 and all(item.status.phase == "Ready" for item in things.values()), 30)
        assert len(pods.values()) == 150
        text = manager.metrics.text().decode()
        assert 'rayfleet_writes_total{kind="Pod",outcome="done",verb="create"} 150.0' in text
        assert 'kind="Pod",outcome="refused"' not in text and 'verb="delete"' not in text
        await manager.recorder.flushed()
        controller, before = manager.controllers[0], requests(manager)
        for item in things.values():
            controller._queue.add(item.metadata.key)
        await until(lambda: not len(controller._queue) and not controller._running)
        assert requests(manager) == before
