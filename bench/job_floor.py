"""The floor for RayJobs: a bare loop that makes as many writes for each as the operator does, and decides nothing.

usage: python -m bench.job_floor      against $KUBECONFIG; per job (HTTPMode, a head alone): 1 cluster, 1 Pod, 2 Services, 3 events,
                                      3 statuses, 2 marks on the job; Ray is not asked

The manifests of one job are rendered once, and filled in for each.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bench.floor import ENDPOINTS, STAMP, STATES, Change, Floor
from bench.load import job
from rayfleet.api.config import Configuration
from rayfleet.api.labels import JOB_FINALIZER, SUBMITTED_TO
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, SERVICES, ObjectMeta, Resource, controller_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.planning.conditions import is_true
from rayfleet.sim.ideal import render, uid_of

MODEL = "floor-model"
KINDS = {each.kind: each for each in (RAYCLUSTERS, PODS, SERVICES)}


class JobFloor(Floor):
    def __init__(self, client: Client) -> None:
        super().__init__(client)
        manifests = render([job(MODEL)], Configuration())
        self.made, *self.children, self.service = ((KINDS[each["kind"]], msgspec.json.encode(each)) for each in manifests)
        self.uids = [uid_of("default", MODEL).encode(), uid_of("default", f"{MODEL}/cluster").encode()]
        self.cluster_name = manifests[0]["metadata"]["name"]
        self.jobs: dict[str, ObjectMeta] = {}

    def job(self, change: Change) -> None:
        if change.type == "ADDED":
            self.spawn(self.begin(change.object.metadata))

    def pod(self, change: Change) -> None:
        owner = controller_of(change.object.metadata)
        if owner is not None and is_true(change.object.status.conditions, "Ready") and owner.name not in self.done:
            self.done.add(owner.name)
            self.spawn(self.end(self.jobs[owner.name]))

    async def begin(self, owner: ObjectMeta) -> None:
        cluster = self.cluster_name.replace(MODEL, owner.name)
        self.jobs[cluster] = owner
        await self.mark(owner.name, {"finalizers": [JOB_FINALIZER]})
        started = {"jobId": owner.name, "rayClusterName": cluster, "startTime": STAMP}
        await self.tell(RAYJOBS, owner.name, {**started, "jobDeploymentStatus": "Initializing", "observedGeneration": 1})
        made = msgspec.json.decode(await self.send(*self.made, owner))
        await asyncio.gather(*(self.send(*each, owner, made["metadata"]["uid"]) for each in self.children))
        await asyncio.gather(self.event(owner, "cluster"), self.event(owner, "head"))

    async def end(self, owner: ObjectMeta) -> None:
        cluster = self.cluster_name.replace(MODEL, owner.name)
        head = {"podName": f"{cluster}-head-7wdbh", "podIP": "10.128.0.1", "serviceName": f"{cluster}-head-svc", "serviceIP": "10.128.0.1"}
        conditions = [
            {"type": kind, "status": "True", "reason": good, "message": "", "lastTransitionTime": STAMP, "observedGeneration": 1}
            for kind, (good, _) in STATES.items()
        ]
        ready = {"state": "ready", "head": head, "endpoints": ENDPOINTS, "conditions": conditions, "lastUpdateTime": STAMP}
        await self.tell(RAYCLUSTERS, cluster, ready)
        await self.mark(owner.name, {"annotations": {SUBMITTED_TO: f"{owner.name} session"}})
        await asyncio.gather(self.send(*self.service, owner), self.event(owner, "submitted"))
        running = {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "rayClusterStatus": ready, "message": "is to start"}
        await self.tell(RAYJOBS, owner.name, running)

    async def send(self, kind: Resource, manifest: bytes, owner: ObjectMeta, uid: str = "") -> bytes:
        """`uid` is the cluster's."""
        body = manifest.replace(MODEL.encode(), owner.name.encode()).replace(self.uids[0], owner.uid.encode())
        return await self.client.create(kind, body.replace(self.uids[1], uid.encode()), "default", type=bytes)

    async def mark(self, name: str, metadata: dict[str, Any]) -> None:
        await self.client.patch(RAYJOBS, name, "default", {"metadata": metadata}, type=bytes)

    async def tell(self, kind: Resource, name: str, status: dict[str, Any]) -> None:
        await self.client.patch(kind, name, "default", {"status": status}, subresource="status", type=bytes)


async def main() -> None:
    async with Client(load_kubeconfig(), user_agent="floor", timeout=300.0) as client:  # it includes the wait for a connection
        floor = JobFloor(client)
        await asyncio.gather(floor.watch(RAYJOBS, floor.job), floor.watch(PODS, floor.pod))


if __name__ == "__main__":
    asyncio.run(main())
