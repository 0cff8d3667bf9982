"""RayClusters in few words, and what is asked of them."""

from __future__ import annotations

from typing import Any

from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS
from tests.parity.canonical import Json
from tests.parity.stage import Stage, until

AMOUNTS = {"cpu": "1", "memory": "2Gi"}


def template(**pod: Any) -> Json:
    """`metadata` and fields of the Pod's spec; `container` are fields of the Ray container."""
    container = {"name": "ray", "image": "rayproject/ray:2.52.0", "resources": {"requests": AMOUNTS, "limits": AMOUNTS}}
    container |= pod.pop("container", {})
    metadata = {"metadata": pod.pop("metadata")} if "metadata" in pod else {}
    return {**metadata, "spec": {"containers": [container], **pod}}


def group(name: str = "small", replicas: int = 1, **fields: Any) -> Json:
    """A field `template` replaces the usual one."""
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": template(),
        **fields,
    }


def cluster(*groups: Json, name: str = "demo", head: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    """`head` are fields of the head's group."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template(), **(head or {})},
            "workerGroupSpecs": list(groups),
            **spec,
        },
    }


class Cluster:
    """An applied RayCluster."""

    def __init__(self, stage: Stage, manifest: Json) -> None:
        self.stage, self.manifest = stage, manifest
        self.name, self.namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]

    async def get(self) -> Json:
        found: Json = await self.stage.client.get(RAYCLUSTERS, self.name, self.namespace)
        return found

    async def status(self) -> Json:
        return (await self.get()).get("status") or {}

    async def conditions(self) -> dict[str, Json]:
        return {each["type"]: each for each in (await self.status()).get("conditions") or ()}

    async def condition(self, kind: str, status: str = "True") -> Json:
        """Waits for it."""

        async def held() -> Json | None:
            found = (await self.conditions()).get(kind)
            return found if found and found["status"] == status else None

        found: Json = await until(held, what=f"{self.name}: {kind} never became {status}")
        return found

    async def ready(self, workers: int | None = None) -> Json:
        """Waits until the state is ready, with so many ready workers (None: all), and the last edit is dealt with."""

        async def held() -> Json | None:
            found = await self.get()
            status = found.get("status") or {}
            wanted = status.get("desiredWorkerReplicas", 0) if workers is None else workers
            settled = status.get("state") == "ready" and status.get("observedGeneration") == found["metadata"]["generation"]
            return status if settled and status.get("readyWorkerReplicas", 0) == wanted else None

        found: Json = await until(held, 30, what=f"{self.name} was never ready with {workers} workers")
        return found

    async def merge(self, spec: Json) -> None:
        await self.stage.client.patch(RAYCLUSTERS, self.name, self.namespace, {"spec": spec})

    async def patch(self, *values: tuple[str, Any]) -> None:
        """Each a path below spec and what shall stand there, all in one request."""
        operations = [{"op": "add", "path": f"/spec/{path}", "value": value} for path, value in values]
        await self.stage.client.patch(RAYCLUSTERS, self.name, self.namespace, operations, kind="json")

    async def pods(self, group: str = "") -> list[Json]:
        """The group's, in order of slots; without a group all workers."""
        return [pod for pod in await self.stage.pods(self.namespace, group) if pod["metadata"]["labels"]["ray.io/cluster"] == self.name]

    async def head(self) -> Json:
        """Waits for one that is not on its way out."""

        async def found() -> list[Json]:
            return [pod for pod in await self.pods("headgroup") if "deletionTimestamp" not in pod["metadata"]]

        (head,) = await until(found)
        return dict(head)

    async def delete_pod(self, name: str) -> None:
        await self.stage.client.delete(PODS, name, self.namespace)

    async def annotate_pod(self, name: str, **annotations: str | None) -> None:
        notes = {f"rayfleet.dev/{key}": value for key, value in annotations.items()}
        await self.stage.client.patch(PODS, name, self.namespace, {"metadata": {"annotations": notes}})

    async def events(self) -> list[Json]:
        return await self.stage.client.list(EVENTS, self.namespace)

    async def quiet(self, seconds: float = 1.3) -> None:
        """Waits until nobody has written for so long."""
        await self.stage.quiet(seconds)


async def applied(stage: Stage, manifest: Json) -> Cluster:
    """In the stage's own namespace."""
    placed = {**manifest, "metadata": {**manifest["metadata"], "namespace": stage.namespace}}
    await stage.apply(placed)
    return Cluster(stage, placed)
