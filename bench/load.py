"""N RayClusters created at a steady rate, and when each became ready."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS, RAYCLUSTERS, RAYJOBS, RAYSERVICES, ObjectMeta
from rayfleet.api.raycluster import RayClusterStatus
from rayfleet.kube.client import Client
from rayfleet.kube.errors import AlreadyExists
from rayfleet.planning.conditions import is_true

RATE = 100.0
RESOURCES = {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}


class Seen(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    status: RayClusterStatus = RayClusterStatus()


class Change(msgspec.Struct, frozen=True):
    type: str
    object: Seen


DECODER = msgspec.json.Decoder(Change)


def cluster(name: str, workers: int) -> dict[str, Any]:
    def template(container: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": container, "image": "rayproject/ray:2.52.0", "resources": RESOURCES}]}}

    group = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": workers, "rayStartParams": {}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
            "workerGroupSpecs": [{**group, "template": template("ray-worker")}] if workers else [],
        },
    }


def job(name: str, port: int = 0) -> dict[str, Any]:
    """In HTTPMode, on a head alone. `port` is its dashboard's, where it is not the usual one."""
    spec = cluster(name, 0)["spec"]
    if port:
        spec["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(port)}
    whole = {"submissionMode": "HTTPMode", "entrypoint": "python x.py", "shutdownAfterJobFinishes": False, "rayClusterSpec": spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name, "namespace": "default"}, "spec": whole}


async def install_crds(client: Client, documents: tuple[dict[str, Any], ...]) -> None:
    for document in documents:
        try:
            await client.create(CUSTOMRESOURCEDEFINITIONS, document)
        except AlreadyExists:
            continue
    for kind in (RAYCLUSTERS, RAYSERVICES, RAYJOBS):
        while not await client.serves(kind):  # noqa: ASYNC110  (discovery cannot be watched)
            await asyncio.sleep(0.05)


class Load:
    """Creates clusters and notes, from a watch, when each is ready: provisioned, and as many ready workers as wanted."""

    def __init__(self, client: Client, workers: int) -> None:
        self.client = client
        self.workers = workers
        self.created: dict[str, float] = {}
        self.ready: dict[str, float] = {}
        self.gone: set[str] = set()
        self.changed = asyncio.Event()

    async def watch(self) -> None:
        """For ever; notes what happens from now on."""
        page = msgspec.json.decode(await self.client.list_page(RAYCLUSTERS, limit=1))
        version = page["metadata"]["resourceVersion"]
        while True:
            async for line in self.client.watch(RAYCLUSTERS, resource_version=version):
                change = DECODER.decode(line)
                version = change.object.metadata.resource_version or version
                if change.type != "BOOKMARK":
                    self.note(change)

    def note(self, change: Change) -> None:
        name, status = change.object.metadata.name, change.object.status
        if change.type == "DELETED":
            self.gone.add(name)
        elif is_true(status.conditions, "RayClusterProvisioned") and status.ready_worker_replicas == self.workers:
            self.ready.setdefault(name, time.monotonic())
        self.changed.set()

    async def create(self, count: int) -> float:
        """Create them at the rate; the moment when the first was asked for."""
        began = time.monotonic()

        async def one(index: int) -> None:
            name = f"load-{index:05}"
            await asyncio.sleep(max(began + index / RATE - time.monotonic(), 0))
            await self.client.create(RAYCLUSTERS, cluster(name, self.workers), "default")
            self.created[name] = time.monotonic()

        await asyncio.gather(*(one(index) for index in range(count)))
        return began

    async def wait(self, condition: Any, seconds: float) -> bool:
        """Until the condition holds; False when the time is over."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), max(deadline - time.monotonic(), 0.001))
            except TimeoutError:
                return bool(condition())
        return True
