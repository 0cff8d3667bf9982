"""One RayService or RayJob on a stage of its own, beside a Ray that pretends, for what no recording shows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rayfleet.api.crds import crds
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, RAYSERVICES, SERVICES, Resource
from tests.parity.canonical import Json
from tests.parity.cluster import cluster, group, template
from tests.parity.grounds import embedded_with
from tests.parity.owners.dashboard import Dashboard, Dashboards
from tests.parity.owners.submitters import judged, submitting
from tests.parity.stage import Stage, found, stage, until
from tests.parity.swift import SwiftClock


def config(replicas: int = 1, **more: Any) -> str:
    """A Serve config of one application, in JSON, which is YAML."""
    deployments = [{"name": "Stand", "num_replicas": replicas}]
    application = {"name": "fruit", "route_prefix": "/fruit", "import_path": "shop.fruit:app", "deployments": deployments}
    return json.dumps({"applications": [application], **more})


def cluster_spec(*groups: Json, env: str = "1", **more: Any) -> Json:
    """`env` is what an edit of the head's template changes."""
    head = {"rayStartParams": {}, "template": template(container={"env": [{"name": "REV", "value": env}]})}
    spec: Json = cluster(*groups, **more)["spec"]
    return {**spec, "headGroupSpec": head}


def service(name: str = "shop", **spec: Any) -> Json:
    given = {"serveConfigV2": config(), "rayClusterConfig": cluster_spec(group()), **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name}, "spec": given}


def job(name: str = "train", **spec: Any) -> Json:
    given = {"entrypoint": "python train.py", "submissionMode": "HTTPMode", **spec}
    if "clusterSelector" not in given:
        given = {"rayClusterSpec": cluster_spec(), **given}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": given}


@dataclass
class Alone:
    """`rays` answers for every head in the stage's namespace."""

    place: Stage
    ray: Dashboard
    rays: Dashboards
    clock: SwiftClock
    resource: Resource = RAYSERVICES
    name: str = ""

    async def apply(self, manifest: Json) -> None:
        self.resource = RAYJOBS if manifest["kind"] == "RayJob" else RAYSERVICES
        self.name = manifest["metadata"]["name"]
        await self.place.apply({**manifest, "metadata": {**manifest["metadata"], "namespace": self.place.namespace}})

    async def edit(self, **spec: Any) -> None:
        await self.place.client.patch(self.resource, self.name, self.place.namespace, {"spec": spec})

    async def get(self) -> Json:
        return await found(self.place.client, self.resource, self.name, self.place.namespace) or {}

    async def status(self) -> Json:
        return dict((await self.get()).get("status") or {})

    async def says(self, kind: str, status: str, reason: str = "") -> bool:
        conditions = (await self.status()).get("conditions") or ()
        return any(each["type"] == kind and each["status"] == status and each["reason"].startswith(reason) for each in conditions)

    async def ready(self) -> None:
        await until(lambda: self.says("Ready", "True"), what="the service was never ready")

    async def reach(self, state: str, word: str = "") -> Json:
        async def reached() -> bool:
            status = await self.status()
            return status.get("jobDeploymentStatus") == state and status.get("jobStatus", "") == word

        await until(reached, what=f"never {state} {word}")
        return await self.status()

    async def handled(self) -> None:
        """Returns when the last edit is dealt with."""

        async def current() -> bool:
            seen = await self.get()
            return bool((seen.get("status") or {}).get("observedGeneration") == seen["metadata"]["generation"])

        await until(current, what="the edit was never acknowledged")

    async def clusters(self) -> list[str]:
        """In order of creation."""
        listed = await self.place.client.list(RAYCLUSTERS, self.place.namespace)
        return [each["metadata"]["name"] for each in sorted(listed, key=lambda each: int(each["metadata"]["resourceVersion"]))]

    async def led_to(self) -> str:
        serving = await self.place.client.get(SERVICES, f"{self.name}-serve-svc", self.place.namespace)
        return str(serving["spec"]["selector"]["ray.io/cluster"])

    async def heads(self) -> list[Json]:
        return await self.place.client.list(PODS, self.place.namespace, labels="ray.io/node-type=head")

    @property
    def puts(self) -> list[tuple[str, Json]]:
        """Which cluster was told which Serve config."""
        return self.ray.serve.puts


@asynccontextmanager
async def alone(rate: float = 10.0, *outcomes: str) -> AsyncIterator[Alone]:
    """`rate` of the operator's, Ray's and the server's seconds pass in one of the machine's. `outcomes` are those of jobs, "" runs on."""
    clock, rays = SwiftClock(rate), Dashboards()
    ray = Dashboard(clock.time, outcomes or ("SUCCEEDED",))
    async with stage(delay=0.01, clock=clock, on=embedded_with(crds, clock.time), ray=rays, judge=judged) as place:
        rays.of[place.namespace] = ray
        async with submitting(place.client, rays.of, clock.time, set()):
            yield Alone(place, ray, rays, clock)
