"""Fairness: two clusters that ask for 500 workers each at the same moment, and one whose every Pod is refused among many that are well."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bench.figure import show
from bench.ground import Embedded, Ground
from bench.load import Load, cluster, install_crds
from rayfleet.api.crds import crds
from rayfleet.api.meta import NAMESPACES, PODS, RAYCLUSTERS, ObjectMeta, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig

LARGE = 500
FIRST = 50
MANY = 100
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


class Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class Change(msgspec.Struct, frozen=True):
    type: str
    object: Pod


async def first_pods(client: Client, began: float, wanted: dict[str, float]) -> None:
    """Note when each cluster has its first 50 Pods."""
    decoder = msgspec.json.Decoder(Change)
    counts: dict[str, int] = {}
    page = msgspec.json.decode(await client.list_page(PODS, limit=1))
    async for line in client.watch(PODS, resource_version=page["metadata"]["resourceVersion"]):
        change = decoder.decode(line)
        name = change.object.metadata.label("ray.io/cluster")
        if change.type != "ADDED" or not name:
            continue
        counts[name] = counts.get(name, 0) + 1
        if counts[name] == FIRST:
            wanted[name] = time.monotonic() - began
            if len(wanted) == 2:
                return


async def two_large(client: Client) -> None:
    reached: dict[str, float] = {}
    watching = asyncio.create_task(first_pods(client, time.monotonic(), reached))
    await asyncio.sleep(0.2)
    await asyncio.gather(*(client.create(RAYCLUSTERS, cluster(name, LARGE), "default") for name in ("large-a", "large-b")))
    await asyncio.wait_for(watching, 120)
    show(f"two clusters of {LARGE} workers: first {FIRST} Pods of both", max(reached.values()), 5, "s")


async def ready_times(client: Client, prefix: str) -> float:
    """p99 of creation to ready for many small clusters."""
    load = Load(client, 1)
    watching = asyncio.create_task(load.watch())
    await asyncio.sleep(0.2)

    async def one(index: int) -> None:
        name = f"{prefix}-{index:03}"
        await client.create(RAYCLUSTERS, cluster(name, 1), "default")
        load.created[name] = time.monotonic()

    await asyncio.gather(*(one(index) for index in range(MANY)))
    await load.wait(lambda: len(load.created.keys() & load.ready.keys()) == MANY, 120)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    waits = sorted(load.ready[name] - load.created[name] for name in load.created)
    return waits[int(len(waits) * 0.99)]


async def one_refused(client: Client) -> None:
    before = await ready_times(client, "calm")
    await client.create(NAMESPACES, {"metadata": {"name": "full"}})
    quota: dict[str, Any] = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await client.create(QUOTAS, quota, "full")
    refused = cluster("refused", LARGE)
    refused["metadata"]["namespace"] = "full"
    await client.create(RAYCLUSTERS, refused, "full")
    beside = await ready_times(client, "beside")
    show(f"{MANY} clusters, p99 to ready", before, 0, "s")
    show("the same beside one whose every Pod is refused", beside, 0, "s")
    show("ratio", beside / before, 1.1, "")


async def measure(ground: Ground) -> None:
    async with Client(load_kubeconfig(ground.kubeconfig("admin")), user_agent="bench") as client:
        await install_crds(client, crds())
        ground.start_kubelet()
        ground.start("operator", [sys.executable, "-m", "rayfleet", "run", "--log-level", "error"], user="operator")
        await asyncio.sleep(3.0)
        await one_refused(client)
        await two_large(client)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        ground = Embedded(Path(directory))
        try:
            asyncio.run(measure(ground))
        finally:
            ground.stop()
