"""RayJobs (HTTPMode, a head alone) on a real API server: what one costs, by the audit log and by its head, and how a thousand fare.

usage: python -m bench jobs [one|many|deaf] [--number NUMBER]      without a name all of them
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from typing import Any

import msgspec

from bench.figure import show
from bench.ground import Asked, counted, reachable
from bench.heads import DEAF
from bench.load import cluster, job
from bench.stand import Stand, stand, until
from rayfleet.api.crds import crds
from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS, RAYJOBS, ObjectMeta
from tests.parity.peer_definitions import peer_crds

NAMESPACE = "default"
LATENCY = 0.05  # seconds that a dashboard takes
SETTLED = 40.0  # seconds, by when Ray is asked every ten seconds only
REST = 30.0
DEAF_JOBS, NEW = 100, 100
BOUNDS = {
    "to RUNNING: status writes": ("7, with its cluster's 2", 3),
    "to RUNNING: other writes to the RayJob": ("6-7, with its children", 0),
    "to RUNNING: events": ("5-6, with its cluster's", 2),
    "while running: writes": ("0", 0),
    "while running: calls to Ray a minute": ("20", 6),
    "to finish: status writes": ("1-3", 1),
}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench jobs")
    parser.add_argument("what", nargs="?", choices=("one", "many", "deaf"))
    parser.add_argument("--number", type=int, default=1000)
    options = parser.parse_args(words or [])
    with reachable():
        if options.what in (None, "one"):
            table()
        if options.what in (None, "many"):
            asyncio.run(many(options.number, asyncio.run(floor(options.number))))
        if options.what in (None, "deaf"):
            asyncio.run(deaf())


def table() -> None:
    ours, theirs = (asyncio.run(one(definitions)) for definitions in (crds(), peer_crds()))
    print("  | figure | KubeRay | bound | rayfleet | rayfleet, KubeRay's CRDs |")
    print("  |---|---|---|---|---|")
    for told, (peer, bound) in BOUNDS.items():
        print(f"  | {told} | {peer} | {bound or ''} | {ours[told]:g} | {theirs[told]:g} |", flush=True)


async def one(definitions: tuple[dict[str, Any], ...]) -> dict[str, float]:
    """The figures by name."""
    async with stand(definitions, LATENCY) as place:
        place.start_operator()
        await place.client.create(RAYJOBS, job("train"), NAMESPACE)
        await until(lambda: has_state(place, "Running"), 60.0)
        await asyncio.sleep(SETTLED)
        own = [each for each in place.writes() if each.resource.startswith("rayjobs")]
        found: dict[str, float] = {"to RUNNING: status writes": sum(each.resource == "rayjobs/status" for each in own)}
        found["to RUNNING: other writes to the RayJob"] = sum(each.resource == "rayjobs" for each in own)
        events = await place.client.list(EVENTS, NAMESPACE)
        found["to RUNNING: events"] = sum(each["regarding"]["kind"] == "RayJob" for each in events)
        before, calls = len(place.asked()), place.calls()
        await asyncio.sleep(REST)
        found["while running: writes"] = len(place.writes(before))
        found["while running: calls to Ray a minute"] = round((place.calls() - calls).total() * 60 / REST, 1)
        before = len(place.asked())
        place.end_jobs("SUCCEEDED")
        await until(lambda: has_state(place, "Complete"), 60.0)
        await place.quiet()
        found["to finish: status writes"] = sum(each.resource == "rayjobs/status" for each in place.writes(before))
    return found


async def has_state(place: Stand, state: str) -> bool:
    return all(each == state for each in await states(place))


async def states(place: Stand) -> list[str]:
    return [each.get("status", {}).get("jobDeploymentStatus", "") for each in await place.client.list(RAYJOBS, NAMESPACE)]


async def create(place: Stand, names: list[str], port: int = 0) -> None:
    room = asyncio.Semaphore(16)

    async def make(name: str) -> None:
        async with room:
            await place.client.create(RAYJOBS, job(name, port), NAMESPACE)

    await asyncio.gather(*map(make, names))


class Seen(msgspec.Struct, frozen=True):
    """Of a RayJob or a Pod, what is waited for."""

    metadata: ObjectMeta
    status: dict[str, Any] = {}


class Change(msgspec.Struct, frozen=True):
    type: str
    object: Seen


async def floor(number: int) -> float:
    async with stand(crds(), LATENCY) as place:
        bare = place.ground.start("floor", [sys.executable, "-m", "bench.job_floor"], user="operator")
        seconds = await all_running(place, number)
        show(f"floor: {number} jobs told to run after", seconds, 0, "s")
        show("the same: CPU", bare.cpu(), 0, "s")
        told(place.asked(), number)
    return seconds


async def all_running(place: Stand, number: int) -> float:
    """The seconds from the first one's creation until all are told to run."""
    await asyncio.sleep(3.0)
    watch = asyncio.create_task(running(place, number))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await create(place, [f"job-{index:04}" for index in range(number)])
    await asyncio.wait_for(watch, 300.0)
    return time.monotonic() - began


async def many(number: int, least: float) -> None:
    """All running after how long, beside the floor's seconds, and what the operator takes while they run."""
    async with stand(crds(), LATENCY) as place:
        operator = place.start_operator()
        seconds = await all_running(place, number)
        show(f"{number} jobs: all running after", seconds, 1.3 * least, "s")
        show("the same: operator's CPU", operator.cpu(), 0, "s")
        for kind, times in place.calls().most_common():
            show(f"the same: {kind}, of each", times / number, 0, "")
        await asyncio.sleep(SETTLED)
        requests = place.asked()
        told(requests, number)
        calls = place.calls()
        show(f"{number} jobs that run: operator's CPU", await place.share(operator, REST), 0.3, "core")
        show("the same: memory", operator.sample(), 0, "MB")
        show("the same: calls to Ray a minute, of each", (place.calls() - calls).total() * 60 / REST / number, 6, "")
        show("the same: requests of the API server", len(place.asked()) - len(requests), 0, "")


def told(requests: list[Asked], number: int) -> None:
    for kind, times in counted(requests).most_common(14):
        print(f"      {kind:36} {times / number:6.2f}")
    print(f"      {'conflicts':36} {Counter(each.code for each in requests)[409]:6}")


async def running(place: Stand, number: int) -> None:
    """Until so many jobs are told to run."""
    found: set[str] = set()
    decoder = msgspec.json.Decoder(Change)
    page = msgspec.json.decode(await place.client.list_page(RAYJOBS, limit=1))
    version = page["metadata"]["resourceVersion"]
    while len(found) < number:
        async for line in place.client.watch(RAYJOBS, resource_version=version):
            change = decoder.decode(line)
            version = change.object.metadata.resource_version or version
            if change.object.status.get("jobDeploymentStatus") == "Running":
                found.add(change.object.metadata.name)
            if len(found) == number:
                return


async def deaf() -> None:
    """How much later the heads of new clusters come beside jobs whose dashboards never answer."""
    async with stand(crds(), LATENCY) as place:
        place.start_operator()
        await asyncio.sleep(3.0)
        calm = await heads(place, "calm")
        await create(place, [f"deaf-{index:03}" for index in range(DEAF_JOBS)], DEAF)
        await asyncio.sleep(SETTLED)
        assert not {"Running", "Failed"} & set(await states(place))
        beside = await heads(place, "beside")
        show(f"{NEW} new clusters: p99 to the head's Pod", calm * 1000, 0, "ms")
        show(f"the same beside {DEAF_JOBS} jobs whose dashboards hang", beside * 1000, 0, "ms")
        show("difference", (beside - calm) * 1000, 100, "ms")


async def heads(place: Stand, prefix: str) -> float:
    """p99 of the seconds from the creation of a cluster to that of its head's Pod, ten clusters a second."""
    asked: dict[str, float] = {}
    waits: dict[str, float] = {}

    async def watch() -> None:
        decoder = msgspec.json.Decoder(Change)
        page = msgspec.json.decode(await place.client.list_page(PODS, limit=1))
        async for line in place.client.watch(PODS, resource_version=page["metadata"]["resourceVersion"]):
            change = decoder.decode(line)
            name = change.object.metadata.label("ray.io/cluster")
            if change.type == "ADDED" and name in asked:
                waits[name] = time.monotonic() - asked[name]
            if len(waits) == NEW:
                return

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.2)
    for index in range(NEW):
        name = f"{prefix}-{index:03}"
        asked[name] = time.monotonic()
        await place.client.create(RAYCLUSTERS, cluster(name, 0), NAMESPACE)
        await asyncio.sleep(0.1)
    await asyncio.wait_for(watching, 60.0)
    return sorted(waits.values())[int(NEW * 0.99) - 1]
