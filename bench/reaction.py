"""What an operator costs that sizes clusters at rest, and how soon it meets their demand, to the creation of the Pod: the testbed, hollow
Pods, a scripted GCS for each head.

usage: python -m bench reaction [--number NUMBER] [--workers WORKERS] [--quiet SECONDS]

WORKERS are each cluster's at the start; SECONDS pass then before there is demand.
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
from bench.process import Process
from bench.stand import CONFIGURATION, Stand, stand, until
from rayfleet.api.crds import crds
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.sim.gcs import ScriptedGcs

NAMESPACE = "default"
PORT = 20_000  # of the first cluster's GCS
GROUP = "small"
REST = 60.0
GROWING = 100  # at most, of the clusters


class Head(ScriptedGcs):
    """Knows when demand came, and when it first told of it."""

    def __init__(self) -> None:
        super().__init__(clock=time.time)
        self.wanted = self.told = 0.0

    def want(self, tasks: int) -> None:
        self.wanted = time.monotonic()
        self.pending(tasks, CPU=1.0)

    def _GetClusterResourceState(self, request: bytes) -> bytes:  # noqa: N802 (the name on the wire)
        if self.wanted and not self.told:
            self.told = time.monotonic()
        return super()._GetClusterResourceState(request)


class Seen:
    """The Pods of each cluster with their groups, and when its workers were made, in their order."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, str]] = {}
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
        name, group = meta.label("ray.io/cluster"), meta.label("ray.io/group")
        self.pods.setdefault(name, {})[meta.name] = group
        if group == GROUP:
            self.made.setdefault(name, []).append(time.monotonic())


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench reaction")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--quiet", type=float, default=0.0)
    options = parser.parse_args(words or [])
    with reachable():
        asyncio.run(measure(options.number, options.workers, options.quiet))


async def measure(number: int, workers: int, quiet: float) -> None:
    async with stand(crds()) as place:
        place.config.write_text(json.dumps({**CONFIGURATION, "autoscaling": "hosted"}))
        operator = place.start_operator()
        seen, heads = Seen(), {f"c{index:04}": Head() for index in range(number)}
        watching = asyncio.create_task(seen.watch(place))
        for index, (name, head) in enumerate(heads.items()):
            await head.start(PORT + index, host="0.0.0.0")
            await place.client.create(RAYCLUSTERS, elastic(name, PORT + index, workers), NAMESPACE)
        await until(lambda: all_met(place, seen, heads, workers), 300.0)
        await place.quiet()
        await at_rest(place, operator, number, workers)
        await asyncio.sleep(quiet)
        seen.made.clear()
        growing = dict(list(heads.items())[:GROWING])
        await demand(seen, growing, workers, quiet)
        await more_room(place, seen, growing, workers)
        watching.cancel()
        await asyncio.gather(*(head.stop() for head in heads.values()))


def elastic(name: str, port: int, workers: int) -> dict[str, Any]:
    """One worker more at most, for now."""
    made = cluster(name, workers + 1)
    made["spec"]["enableInTreeAutoscaling"] = True
    made["spec"]["autoscalerOptions"] = {"idleTimeoutSeconds": 3600}
    made["spec"]["headGroupSpec"]["rayStartParams"] = {"port": str(port), "num-cpus": "0"}
    made["spec"]["workerGroupSpecs"][0]["replicas"] = workers
    return made


async def all_met(place: Stand, seen: Seen, heads: dict[str, Head], workers: int) -> bool:
    """Each Pod joins as soon as it is there. True when the operator has heard all heads, and all have their workers."""
    for name, head in heads.items():
        for pod, group in list(seen.pods.get(name, {}).items())[len(head.state.node_states) :]:
            head.node(pod, group, SIZE if group == GROUP else {**SIZE, "CPU": 0.0})
    await asyncio.sleep(1.0)
    found = await place.client.list(RAYCLUSTERS, NAMESPACE)
    conditions = [each for cluster in found for each in (cluster.get("status") or {}).get("conditions") or ()]
    heard = sum(each["type"] == "Autoscaling" and each["status"] == "True" for each in conditions)
    return heard == len(heads) and all(len(head.state.node_states) == workers + 1 for head in heads.values())


async def at_rest(place: Stand, operator: Process, number: int, workers: int) -> None:
    asked = len(place.asked())
    share = await place.share(operator, REST)
    show(f"{number} clusters x {workers} workers at rest: the operator's CPU", share, 0.5, "core")
    show("  its memory", operator.sample(), 300, "MB")
    show("  its requests of the API server", len(place.asked()) - asked, 0, "")


async def demand(seen: Seen, heads: dict[str, Head], workers: int, quiet: float) -> None:
    for head in heads.values():
        head.want(workers + 3)
    await until(lambda: all_have(seen, heads, 1), 120.0)
    made = {name: times[0] for name, times in seen.made.items()}
    when = f"after {quiet:g} quiet seconds" if quiet else "asked every 5 s"
    show(f"{len(heads)} clusters at once, {when}: pending task to Pod, p50", sorted(waits(made, heads))[len(heads) // 2], 0, "s")
    show("  p99", percentile(waits(made, heads)), 0 if quiet else 6, "s")
    known = percentile([made[name] - head.told for name, head in heads.items()])
    show("  of this, from the head's answer to the Pod, p99", known, 1.5, "s")


def waits(made: dict[str, float], heads: dict[str, Head]) -> list[float]:
    return [made[name] - head.wanted for name, head in heads.items()]


async def more_room(place: Stand, seen: Seen, heads: dict[str, Head], workers: int) -> None:
    """One worker more becomes allowed, whose demand has long been known."""
    began: dict[str, float] = {}
    for name in heads:
        began[name] = time.monotonic()
        raised = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/maxReplicas", "value": workers + 2}]
        await place.client.patch(RAYCLUSTERS, name, NAMESPACE, raised, kind="json")
    await until(lambda: all_have(seen, heads, 2), 120.0)
    show("demand that is known, maxReplicas raised: to the Pod, p99", percentile([seen.made[n][1] - began[n] for n in heads]), 1.5, "s")


async def all_have(seen: Seen, heads: dict[str, Head], number: int) -> bool:
    return all(len(seen.made.get(name, ())) >= number for name in heads)
