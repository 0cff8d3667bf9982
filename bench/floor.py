"""The floor: a bare loop that makes only the writes that a fleet needs, and decides nothing. What no operator can be below.

usage: python -m bench.floor      against $KUBECONFIG; per cluster: 4 Pods, 1 Service, 2 events, 2 statuses

It sends what the API's users are used to get, byte for byte: the manifests of one cluster are rendered once, and filled in for each.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bench.load import cluster
from rayfleet.api.config import Configuration
from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS, SERVICES, Condition, ObjectMeta, controller_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.planning.conditions import is_true
from rayfleet.sim.ideal import render, uid_of

WORKERS = 3
MODEL = "floor-model"
STAMP = "2026-01-01T00:00:00Z"
STATES = {
    "HeadPodReady": ("HeadPodRunningAndReady", "ContainersNotReady"),
    "RayClusterProvisioned": ("AllPodRunningAndReadyFirstTime", "RayClusterPodsProvisioning"),
    "RayClusterSuspended": ("RayClusterSuspended", "RayClusterSuspended"),
    "RayClusterSuspending": ("RayClusterSuspending", "RayClusterSuspending"),
    "Valid": ("ValidSpec", "ValidSpec"),
}
TOTALS = {
    "desiredWorkerReplicas": WORKERS,
    "maxWorkerReplicas": WORKERS,
    "desiredCPU": "400m",
    "desiredMemory": "0",
    "observedGeneration": 1,
}
ENDPOINTS = {"client": "10001", "dashboard": "8265", "gcs-server": "6379", "metrics": "8080", "serve": "8000"}


class PodStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class Seen(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    status: PodStatus = PodStatus()


class Change(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: Seen


DECODER = msgspec.json.Decoder(Change)


class Floor:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.pods: dict[str, set[str]] = {}
        self.done: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        manifests = render([cluster(MODEL, WORKERS)], Configuration())
        self.models = [(SERVICES if each["kind"] == "Service" else PODS, msgspec.json.encode(each)) for each in manifests]
        self.model_uid = uid_of("default", MODEL).encode()

    async def watch(self, resource: Any, heed: Any) -> None:
        page = msgspec.json.decode(await self.client.list_page(resource, limit=1))
        version = page["metadata"]["resourceVersion"]
        while True:
            async for line in self.client.watch(resource, resource_version=version):
                change = DECODER.decode(line)
                version = change.object.metadata.resource_version or version
                heed(change)

    def cluster(self, change: Change) -> None:
        if change.type == "ADDED":
            self.spawn(self.make(change.object.metadata))

    def pod(self, change: Change) -> None:
        owner = controller_of(change.object.metadata)
        if owner is None or change.type not in ("ADDED", "MODIFIED") or not is_true(change.object.status.conditions, "Ready"):
            return
        ready = self.pods.setdefault(owner.name, set())
        ready.add(change.object.metadata.name)
        if len(ready) == WORKERS + 1 and owner.name not in self.done:
            self.done.add(owner.name)
            self.spawn(self.status(owner.name, True))

    def spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def make(self, owner: ObjectMeta) -> None:
        name, uid = owner.name.encode(), owner.uid.encode()
        children = ((kind, model.replace(MODEL.encode(), name).replace(self.model_uid, uid)) for kind, model in self.models)
        await asyncio.gather(*(self.client.create(kind, body, "default", type=bytes) for kind, body in children))
        await asyncio.gather(self.event(owner, "head"), self.event(owner, "workers"), self.status(owner.name, False))

    async def event(self, owner: ObjectMeta, what: str) -> None:
        regarding = {"kind": "RayCluster", "name": owner.name, "namespace": "default", "uid": owner.uid, "apiVersion": "ray.io/v1"}
        body = {
            "metadata": {"name": f"{owner.name}.{what}", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "action": "Create",
            "reason": "Created",
            "type": "Normal",
            "note": f"Created {what}",
            "reportingController": "floor",
            "reportingInstance": "floor",
            "regarding": regarding,
        }
        await self.client.create(EVENTS, body, "default", type=bytes)

    async def status(self, name: str, ready: bool) -> None:
        conditions = [
            {
                "type": kind,
                "status": str(kind == "Valid" or (ready and "Suspend" not in kind)),
                "reason": good if ready else bad,
                "message": "",
                "lastTransitionTime": STAMP,
                "observedGeneration": 1,
            }
            for kind, (good, bad) in STATES.items()
        ]
        status: dict[str, Any] = {"conditions": conditions, "lastUpdateTime": STAMP}
        if ready:
            head = {"podName": f"{name}-head-7wdbh", "podIP": "10.128.0.1", "serviceName": f"{name}-head-svc", "serviceIP": "10.128.0.1"}
            status |= {"readyWorkerReplicas": WORKERS, "availableWorkerReplicas": WORKERS, "state": "ready", "head": head}
        else:
            status |= {**TOTALS, "endpoints": ENDPOINTS}
        await self.client.patch(RAYCLUSTERS, name, "default", {"status": status}, subresource="status", type=bytes)


async def main() -> None:
    async with Client(load_kubeconfig(), user_agent="floor", timeout=300.0) as client:  # it includes the wait for a connection
        floor = Floor(client)
        await asyncio.gather(floor.watch(RAYCLUSTERS, floor.cluster), floor.watch(PODS, floor.pod))


if __name__ == "__main__":
    asyncio.run(main())
