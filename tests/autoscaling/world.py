"""Clusters whose heads are scripted: the operator as it is, an API server, a hollow kubelet, and a GCS for each cluster over real gRPC."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from rayfleet import controllers
from rayfleet.api.config import Configuration
from rayfleet.api.meta import EVENTS, PODS
from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.loop import Loop
from rayfleet.autoscaling.scaler import Scaler
from rayfleet.ray.gcs import Gcs, Head
from rayfleet.ray.rhythm import Rhythm
from rayfleet.runtime.clock import SYSTEM
from rayfleet.runtime.gate import Hook, nothing
from rayfleet.runtime.manager import Manager, ManagerSettings
from rayfleet.sim.gcs import ScriptedGcs
from tests.parity.canonical import Json
from tests.parity.stage import Stage, stage, until
from tests.raycluster.vocabulary import group, template

HOSTED = Configuration(autoscaling="hosted")
SWIFT = Rhythm(0.05, 0.2, 1.5)
NAMESPACE_LABEL = "ray.io/cluster"


class NoSecrets:
    async def token(self, head: Head) -> str:
        return "secret"

    async def certificate(self, head: Head) -> Any:
        raise OSError("there is none")

    def refused(self, head: Head) -> None:
        pass


@dataclass
class Ray:
    """One cluster's: a node for each of its Pods that is ready, until the node is dead."""

    gcs: ScriptedGcs
    port: int
    cpus: dict[str, float] = field(default_factory=dict)

    def join(self, pods: list[Json]) -> None:
        for pod in pods:
            name, group_name = pod["metadata"]["name"], pod["metadata"]["labels"]["ray.io/group"]
            if not any(node.instance_id == name for node in self.gcs.state.node_states) and is_ready(pod):
                cpus = 0.0 if group_name == "headgroup" else self.cpus.get(group_name, 1.0)
                self.gcs.node(name, group_name, {"CPU": cpus})

    def nodes(self, group_name: str) -> list[Any]:
        return [node for node in self.gcs.state.node_states if node.ray_node_type_name == group_name]


class Heads:
    """The loop's way to the scripted heads: a real channel, to the port that stands for the cluster's address."""

    def __init__(self) -> None:
        self.gcs = Gcs(NoSecrets(), deadline=1.0)
        self.rays: dict[str, Ray] = {}
        self.stage: Stage | None = None
        self.places: dict[Head, Head] = {}

    async def there(self, head: Head) -> Head:
        found = self.rays.get(head.cluster.name)
        if found is None:
            raise OSError("nobody is there")
        if self.stage:
            found.join(await self.stage.client.list(PODS, head.cluster.namespace, labels=f"{NAMESPACE_LABEL}={head.cluster.name}"))
        place = self.places[head] = replace(head, address="127.0.0.1", port=found.port)
        return place

    async def state(self, head: Head) -> bytes:
        return await self.gcs.state(await self.there(head))

    async def report(self, head: Head, request: bytes) -> None:
        await self.gcs.report(await self.there(head), request)

    async def drain(self, head: Head, request: bytes) -> bytes:
        return await self.gcs.drain(await self.there(head), request)

    def leave(self, head: Head) -> Coroutine[Any, Any, None]:
        return self.gcs.leave(self.places.pop(head, head))


@dataclass
class World:
    stage: Stage
    heads: Heads

    @property
    def namespace(self) -> str:
        return self.stage.namespace

    async def ray(self, name: str, **cpus: float) -> Ray:
        """A GCS for the cluster of that name."""
        gcs = ScriptedGcs(clock=time.time)
        found = self.heads.rays[name] = Ray(gcs, await gcs.start(), cpus)
        return found

    async def cluster(self, name: str, *groups: Json, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations or {}}
        head = {"rayStartParams": {"num-cpus": "0"}, "template": template()}
        body = {"headGroupSpec": head, "workerGroupSpecs": list(groups), "enableInTreeAutoscaling": True, **spec}
        await self.stage.apply({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": body})

    async def get(self, name: str) -> Json:
        found = await self.stage.cluster(self.namespace, name)
        assert found is not None
        return found

    async def replicas(self, name: str) -> dict[str, int]:
        return {each["groupName"]: each["replicas"] for each in (await self.get(name))["spec"]["workerGroupSpecs"]}

    async def pods(self, name: str) -> list[str]:
        listed = await self.stage.client.list(PODS, self.namespace, labels=f"{NAMESPACE_LABEL}={name},ray.io/node-type=worker")
        return sorted(pod["metadata"]["name"] for pod in listed if "deletionTimestamp" not in pod["metadata"])

    async def head(self, name: str) -> Json:
        """The Pod, once it is ready."""

        async def ready() -> Json | None:
            listed = await self.stage.client.list(PODS, self.namespace, labels=f"{NAMESPACE_LABEL}={name},ray.io/node-type=head")
            return next((pod for pod in listed if "deletionTimestamp" not in pod["metadata"] and is_ready(pod)), None)

        return await until(ready, what=f"{name} has no head")

    async def condition(self, name: str) -> Json:
        conditions = ((await self.get(name)).get("status") or {}).get("conditions") or []
        return next((each for each in conditions if each["type"] == "Autoscaling"), {})

    async def says(self, name: str, reason: str) -> None:
        """Until the condition does."""

        async def so() -> bool:
            return (await self.condition(name)).get("reason") == reason

        await until(so, what=f"{name} never said {reason}")

    async def notes(self, name: str) -> list[str]:
        events = await self.stage.client.list(EVENTS, self.namespace)
        return [event["note"] for event in events if event["regarding"]["name"] == name]

    async def becomes(self, name: str, **replicas: int) -> None:
        async def so() -> bool:
            return await self.replicas(name) == replicas

        await until(so, what=f"{name} was never {replicas}")


def is_ready(pod: Json) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in (pod.get("status") or {}).get("conditions") or ())


def small(**fields: Any) -> Json:
    return group(**{"replicas": 0, "maxReplicas": 5, **fields})


@asynccontextmanager
async def scaler(heads: Heads) -> AsyncIterator[Scaler]:
    loop, judge = Loop(heads, SYSTEM, rhythm=SWIFT), Judge()
    try:
        yield Scaler(loop, judge)
    finally:
        await loop.close()
        judge.close()


@asynccontextmanager
async def world(configuration: Configuration = HOSTED, *, sized: bool = True) -> AsyncIterator[World]:
    """`sized`: somebody sizes the clusters."""
    heads = Heads()
    try:
        async with scaler(heads) as sizes, stage(configuration, scaler=sizes if sized else None) as opened:
            heads.stage = opened
            yield World(opened, heads)
    finally:
        await heads.gcs.close()
        await asyncio.gather(*(ray.gcs.stop() for ray in heads.rays.values()))


@asynccontextmanager
async def sizing(world: World, hook: Hook = nothing) -> AsyncIterator[None]:
    """A process that sizes clusters and does nothing else, until it is killed: it remembers nothing, and its work is left where it is."""
    async with scaler(world.heads) as sizes:
        settings = ManagerSettings(user_agent="sizer")
        manager = Manager(world.stage.connection, [controllers.sizes(HOSTED, sizes)], settings, hook=hook)
        running = asyncio.create_task(manager.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait([running])
