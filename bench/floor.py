"""The floor: a bare loop that makes only the writes that a fleet needs, and decides nothing. What no operator can be below.

usage: python -m bench.floor      against $KUBECONFIG; per cluster: 4 Pods, 1 Service, 2 events, 2 statuses
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS, SERVICES, Condition, ObjectMeta, controller_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.planning.conditions import is_true
from rayfleet.resources.pod import Manifest

WORKERS = 3


class PodStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class Seen(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    status: PodStatus = PodStatus()


class Change(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: Seen


DECODER = msgspec.json.Decoder(Change)
ENV = [{"name": f"RAY_VARIABLE_{index}", "value": "a value of usual length"} for index in range(14)]
PROBE = {"httpGet": {"path": "/api/healthz", "port": 52365}, "periodSeconds": 5, "failureThreshold": 10}
LINE = "ulimit -n 65536; ray start --block --dashboard-agent-listen-port=52365 --metrics-export-port=8080 --num-cpus=1"


class Floor:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.pods: dict[str, set[str]] = {}
        self.done: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()

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
        names = [f"{owner.name}-head-x", *(f"{owner.name}-small-worker-{index}" for index in range(WORKERS))]
        service = {"clusterIP": "None", "selector": {"ray.io/cluster": owner.name}, "ports": [{"name": "gcs-server", "port": 6379}]}
        await asyncio.gather(
            self.client.create(SERVICES, {"metadata": meta(owner, f"{owner.name}-head-svc"), "spec": service}, "default"),
            *(self.client.create(PODS, pod(owner, name), "default") for name in names),
        )
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
        await self.client.create(EVENTS, body, "default")

    async def status(self, name: str, ready: bool) -> None:
        condition = {
            "type": "RayClusterProvisioned",
            "status": str(ready),
            "reason": "Ready" if ready else "Provisioning",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        body = {"status": {"conditions": [condition], **({"readyWorkerReplicas": WORKERS, "state": "ready"} if ready else {})}}
        await self.client.patch(RAYCLUSTERS, name, "default", body, subresource="status")


def meta(owner: ObjectMeta, name: str) -> Manifest:
    reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": owner.name, "uid": owner.uid, "controller": True}
    marks = {"ray.io/cluster": owner.name, "ray.io/node-type": "head" if "head" in name else "worker"}
    return {"name": name, "labels": marks, "ownerReferences": [reference]}


def pod(owner: ObjectMeta, name: str) -> Manifest:
    container = {
        "name": "ray",
        "image": "rayproject/ray:2.52.0",
        "command": ["/bin/bash", "-c", "--"],
        "args": [LINE],
        "env": ENV,
        "livenessProbe": PROBE,
        "readinessProbe": PROBE,
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}},
    }
    return {"metadata": meta(owner, name), "spec": {"containers": [container]}}


async def main() -> None:
    async with Client(load_kubeconfig(), user_agent="floor", timeout=300.0) as client:  # it includes the wait for a connection
        floor = Floor(client)
        await asyncio.gather(floor.watch(RAYCLUSTERS, floor.cluster), floor.watch(PODS, floor.pod))


if __name__ == "__main__":
    asyncio.run(main())
