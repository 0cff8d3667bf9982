"""What hosted autoscaling costs: a thousand clusters at rest, a hundred growing at once, also beside one with a great deal to weigh.

Heads are scripted and live in a process of their own; measured is a process that holds the loop, the observations and the plans, over real
gRPC with a channel to each head. The API server is left out: what would be written to it is counted.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from bench.figure import show
from bench.process import cpu_of, memory_of
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView
from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.loop import Loop
from rayfleet.autoscaling.observe import Observer
from rayfleet.autoscaling.sizing import plan
from rayfleet.ray.gcs import Gcs, Head
from rayfleet.ray.rhythm import Rhythm
from rayfleet.runtime.clock import SYSTEM
from rayfleet.sim.gcs import ScriptedGcs
from tests.raycluster.vocabulary import cluster, group, head, worker

CLUSTERS, GROWING, SECONDS = 1000, 100, 30.0
CROWD, SHAPES = 1000, 10_000  # workers, and tasks that all differ, of the one cluster with much to weigh
LARGE = "large"
HOSTED = Configuration(autoscaling="hosted")
SIZE = {"CPU": 1.0, "memory": 2.0**31}


class NoSecrets:
    async def token(self, head: Head) -> str:
        return ""

    async def certificate(self, head: Head) -> Any:
        raise OSError("there is none")

    def refused(self, head: Head) -> None:
        pass


class To(Gcs):
    """Every head is at a port of this machine."""

    def __init__(self, port_of: Callable[[str], int]) -> None:
        super().__init__(NoSecrets())
        self.port_of = port_of

    async def _call(self, head: Head, method: str, request: bytes) -> bytes:
        return await super()._call(replace(head, address="127.0.0.1", port=self.port_of(head.cluster.name)), method, request)


@dataclass
class World:
    """Clusters with their Pods as the caches hold them."""

    clusters: dict[Key, RayCluster]
    pods: dict[str, tuple[PodView, ...]]

    def get(self, resource: Resource, key: Key) -> Any:
        assert resource == RAYCLUSTERS
        return self.clusters[key]

    def owned(self, resource: Resource, uid: str) -> tuple[PodView, ...]:
        assert resource == PODS
        return self.pods[uid]

    def backoffs(self, key: Key) -> dict[str, Any]:
        return {}


@dataclass
class Run:
    """The controller's part: looks at whoever has something new, carries calls out, and counts what would be written."""

    world: World
    loop: Loop
    observer: Observer
    written: Counter[str] = field(default_factory=Counter)
    grown: dict[Key, float] = field(default_factory=dict)
    decided: list[float] = field(default_factory=list)
    due: asyncio.Queue[tuple[Key, float]] = field(default_factory=asyncio.Queue)
    all_grown: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self) -> None:
        while True:
            key, since = await self.due.get()
            observed = await self.observer(self.world, key, time.time())
            if observed is None:
                continue
            made = plan(observed)
            for call in made.calls:
                self.loop.send(key, call.target, call.message, lambda why: None)
            if made.actions:
                self.written["resize"] += 1
                if key.name != LARGE:
                    self.grown.setdefault(key, time.time())
                    self.decided.append(time.perf_counter() - since)
                if len(self.grown) == GROWING:
                    self.all_grown.set()
            if made.status is not None:
                self.written["status"] += 1
                self.keep(key, made.status.patch)

    def keep(self, key: Key, patch: Any) -> None:
        """The status as the cache shows it afterwards."""
        known = self.world.clusters[key]
        status = msgspec.convert({**msgspec.to_builtins(known.status), **patch}, type(known.status))
        self.world.clusters[key] = msgspec.structs.replace(known, status=status)


def clusters(number: int) -> World:
    of = cluster(group(replicas=3), annotations={}, enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": 3600})
    pods = (head("head"), *(worker(index, name=f"worker-{index}") for index in range(3)))
    found = {}
    for index in range(number):
        metadata = msgspec.structs.replace(of.metadata, name=f"c{index}", uid=f"uid-{index}")
        found[metadata.key] = msgspec.structs.replace(of, metadata=metadata)
    return World(found, {each.metadata.uid: pods for each in found.values()})


def large(world: World) -> Key:
    """One more cluster, of many workers."""
    one = next(iter(world.clusters.values()))
    group_ = msgspec.structs.replace(one.spec.worker_group_specs[0], replicas=CROWD, max_replicas=10 * CROWD)
    metadata = msgspec.structs.replace(one.metadata, name=LARGE, uid=LARGE)
    spec = msgspec.structs.replace(one.spec, worker_group_specs=(group_,))
    made = world.clusters[metadata.key] = msgspec.structs.replace(one, metadata=metadata, spec=spec)
    world.pods[LARGE] = (head("head"), *(worker(index, name=f"worker-{index}") for index in range(CROWD)))
    return made.metadata.key


class Restless(ScriptedGcs):
    """Much waits, and each answer is another one."""

    def fill(self) -> None:
        for index in range(CROWD):
            self.busy(self.node(f"worker-{index}", "small", SIZE))
        for number in range(SHAPES):
            self.pending(1, CPU=0.5 + number / SHAPES / 2)

    def _GetClusterResourceState(self, request: bytes) -> bytes:  # noqa: N802 (the name on the wire)
        self.state.pending_resource_requests[0].count += 1
        return super()._GetClusterResourceState(request)


async def serve() -> None:
    """Three heads: one at rest, one to which demand comes at each line of the input, a restless one. Prints their ports, and the time of
    each demand."""
    restless = Restless(clock=time.time)
    heads = [ScriptedGcs(clock=time.time), ScriptedGcs(clock=time.time), restless]
    ports = []
    for each in heads:
        each.node("head", "headgroup", {})
        if each is not restless:
            for index in range(3):
                each.idle(each.node(f"worker-{index}", "small", SIZE))
        ports.append(await each.start())
    restless.fill()
    print(*ports, flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        heads[1].pending(5, CPU=1.0)
        print(time.time(), flush=True)
    await asyncio.gather(*(each.stop() for each in heads))


async def measure() -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.hosting", "serve", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    idle, growing, restless = map(int, (await server.stdout.readline()).split())
    before = memory_of(os.getpid())
    gcs = To(lambda name: restless if name == LARGE else growing if int(name[1:]) < GROWING else idle)
    judge = Judge()
    try:
        await at_rest(gcs, judge, before)
        await growth(gcs, judge, server.stdin, server.stdout)
        await growth(gcs, judge, server.stdin, server.stdout, beside=True)
    finally:
        await gcs.close()
        judge.close()
        server.stdin.close()
        await server.wait()


async def at_rest(gcs: Gcs, judge: Judge, before: float) -> None:
    """Asked every 5 s, which is the most often that a head at rest is asked, and then in the usual rhythm after a quiet while."""
    for name, rhythm in (("every 5 s", Rhythm(5.0, 5.0, 1.0)), ("every 30 s", Rhythm(30.0, 30.0, 1.0))):
        run, tasks = await begun(gcs, judge, rhythm)
        await asyncio.sleep(8)
        run.written.clear()
        cpu = cpu_of(os.getpid())
        await asyncio.sleep(SECONDS)
        show(f"{CLUSTERS} idle clusters x 3 workers asked {name}", (cpu_of(os.getpid()) - cpu) / SECONDS, 0.5, "core")
        show("  writes a minute", sum(run.written.values()) * 60 / SECONDS, 0, "")
        show("  memory, with the caches of those clusters", memory_of(os.getpid()) - before, 300, "MiB")
        await ended(run, tasks)


async def growth(gcs: Gcs, judge: Judge, orders: asyncio.StreamWriter, times: asyncio.StreamReader, *, beside: bool = False) -> None:
    """`beside`: one cluster has much that waits, and another answer at each asking."""
    run, tasks = await begun(gcs, judge, Rhythm(5.0, 5.0, 1.0))
    if beside:
        run.due.put_nowait((large(run.world), time.perf_counter()))
    await asyncio.sleep(8)
    run.decided.clear()
    run.grown.clear()
    lags: list[float] = []
    tasks.append(asyncio.create_task(lagging(lags)))
    orders.write(b"demand\n")
    asked = float(await times.readline())
    await run.all_grown.wait()
    await asyncio.sleep(10.0 if beside else 0.0)  # until the large one was weighed some times
    what = f"{GROWING} growing at once" + (f", beside {SHAPES} tasks that all differ on {CROWD} workers" if beside else "")
    show(f"{what}: from the answer to the decision, p99", percentile(run.decided) * 1e3, 200, "ms")
    show("  from the demand to the write, p99", percentile([when - asked for when in run.grown.values()]), 6, "s")
    show("  longest that the loop was held up", max(lags) * 1e3, 0, "ms")
    await ended(run, tasks)


async def lagging(lags: list[float]) -> None:
    """How much later than asked for this is called, again and again."""
    while True:
        since = time.perf_counter()
        await asyncio.sleep(0.001)
        lags.append(time.perf_counter() - since - 0.001)


async def begun(gcs: Gcs, judge: Judge, rhythm: Rhythm) -> tuple[Run, list[asyncio.Task[None]]]:
    world = clusters(CLUSTERS)
    loop = Loop(gcs, SYSTEM, rhythm=rhythm)
    run = Run(world, loop, Observer(HOSTED, loop, judge))
    loop.subscribe(lambda key: run.due.put_nowait((key, time.perf_counter())))
    tasks = [asyncio.create_task(run.work()) for _ in range(16)]
    for number, key in enumerate(world.clusters):
        run.due.put_nowait((key, time.perf_counter()))
        if number % 20 == 0:
            await asyncio.sleep(0.08)  # as they would come: spread over the period
    return run, tasks


async def ended(run: Run, tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await run.loop.close()


def percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else values[0]


def main() -> None:
    asyncio.run(measure())


if __name__ == "__main__":
    asyncio.run(serve())
