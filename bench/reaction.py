"""How soon hosted autoscaling meets demand, to the creation of the Pod: the testbed, hollow Pods, a scripted GCS for each head.

usage: python -m bench reaction [--number NUMBER] [--quiet SECONDS]      SECONDS pass between the clusters' start and their demand
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

import msgspec

from bench.figure import show
from bench.ground import reachable
from bench.hosting import SIZE, percentile
from bench.jobs import Change
from bench.load import cluster
from bench.stand import CONFIGURATION, Stand, stand, until
from rayfleet.api.crds import crds
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.sim.gcs import ScriptedGcs

NAMESPACE = "default"
PORT = 20_000  # of the first cluster's GCS
GROUP = "small"
SETTLED = 15.0


class Head(ScriptedGcs):
    """Knows when demand came, and when it first told of it."""

    def __init__(self) -> None:
        super().__init__(clock=time.time)
        self.wanted = self.told = 0.0

    def want(self) -> None:
        self.wanted = time.monotonic()
        self.pending(3, CPU=1.0)

    def _GetClusterResourceState(self, request: bytes) -> bytes:  # noqa: N802 (the name on the wire)
        if self.wanted and not self.told:
            self.told = time.monotonic()
        return super()._GetClusterResourceState(request)


class Workers:
    """When each cluster got its first Pods, and the heads' names."""

    def __init__(self) -> None:
        self.heads: dict[str, str] = {}
        self.made: dict[str, list[float]] = {}

    async def watch(self, place: Stand) -> None:
        decoder = msgspec.json.Decoder(Change)
        page = msgspec.json.decode(await place.client.list_page(PODS, limit=1))
        version = page["metadata"]["resourceVersion"]
        while True:
            async for line in place.client.watch(PODS, resource_version=version):
                change = decoder.decode(line)
                version = change.object.metadata.resource_version or version
                if change.type == "ADDED":
                    self.note(change.object.metadata)

    def note(self, meta: Any) -> None:
        name = meta.label("ray.io/cluster")
        if meta.label("ray.io/node-type") == "head":
            self.heads[name] = meta.name
        else:
            self.made.setdefault(name, []).append(time.monotonic())


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench reaction")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--quiet", type=float, default=0.0)
    options = parser.parse_args(words or [])
    with reachable():
        asyncio.run(measure(options.number, options.quiet))


async def measure(number: int, quiet: float) -> None:
    async with stand(crds()) as place:
        place.config.write_text(json.dumps({**CONFIGURATION, "autoscaling": "hosted"}))
        place.start_operator()
        workers, heads = Workers(), {f"c{index:03}": Head() for index in range(number)}
        watching = asyncio.create_task(workers.watch(place))
        for index, (name, head) in enumerate(heads.items()):
            await head.start(PORT + index, host="0.0.0.0")
            await place.client.create(RAYCLUSTERS, elastic(name, PORT + index), NAMESPACE)
        await until(lambda: all_met(place, workers, heads), 120.0)
        await asyncio.sleep(SETTLED + quiet)
        await demand(workers, heads, quiet)
        await more_room(place, workers, heads)
        watching.cancel()
        await asyncio.gather(*(head.stop() for head in heads.values()))


def elastic(name: str, port: int) -> dict[str, Any]:
    """Without a worker; one at most, for now."""
    made = cluster(name, 1)
    made["spec"]["enableInTreeAutoscaling"] = True
    made["spec"]["headGroupSpec"]["rayStartParams"] = {"port": str(port), "num-cpus": "0"}
    made["spec"]["workerGroupSpecs"][0]["replicas"] = 0
    return made


async def all_met(place: Stand, workers: Workers, heads: dict[str, Head]) -> bool:
    """Each head is told what its Pod is called as soon as there is one. True when the operator has heard all."""
    for name, head in heads.items():
        if name in workers.heads and not head.state.node_states:
            head.node(workers.heads[name], "headgroup", {**SIZE, "CPU": 0.0})
    found = await place.client.list(RAYCLUSTERS, NAMESPACE)
    conditions = [each for cluster in found for each in (cluster.get("status") or {}).get("conditions") or ()]
    return sum(each["type"] == "Autoscaling" and each["status"] == "True" for each in conditions) == len(heads)


async def demand(workers: Workers, heads: dict[str, Head], quiet: float) -> None:
    for head in heads.values():
        head.want()
    await until(lambda: all_have(workers, heads, 1), 60.0)
    made = {name: times[0] for name, times in workers.made.items()}
    when = f"after {quiet:g} quiet seconds" if quiet else "asked every 5 s"
    show(f"{len(heads)} clusters at once, {when}: pending task to Pod, p50", sorted(waits(made, heads))[len(heads) // 2], 0, "s")
    show("  p99", percentile(waits(made, heads)), 0 if quiet else 6, "s")
    show(
        "  of this, from the head's answer to the Pod, p99", percentile([made[name] - each.told for name, each in heads.items()]), 1.5, "s"
    )


def waits(made: dict[str, float], heads: dict[str, Head]) -> list[float]:
    return [made[name] - head.wanted for name, head in heads.items()]


async def more_room(place: Stand, workers: Workers, heads: dict[str, Head]) -> None:
    """A second worker becomes allowed, whose demand has long been known."""
    began: dict[str, float] = {}
    for name in heads:
        began[name] = time.monotonic()
        raised = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/maxReplicas", "value": 2}]
        await place.client.patch(RAYCLUSTERS, name, NAMESPACE, raised, kind="json")
    await until(lambda: all_have(workers, heads, 2), 60.0)
    show("demand that is known, maxReplicas raised: to the Pod, p99", percentile([workers.made[n][1] - began[n] for n in heads]), 1.5, "s")


async def all_have(workers: Workers, heads: dict[str, Head], number: int) -> bool:
    return all(len(workers.made.get(name, ())) >= number for name in heads)
