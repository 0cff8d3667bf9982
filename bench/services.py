"""A RayService's life, counted by the audit log of a real API server and by its head, beside what KubeRay was recorded to do; and a
thousand services at rest.

usage: python -m bench services [one|many] [--rest SECONDS] [--number NUMBER]      without a name both
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import nullcontext
from typing import Any, NamedTuple

from bench.figure import show
from bench.ground import reachable
from bench.stand import Stand, stand, until
from rayfleet.api.crds import crds
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.sim.service_specs import cluster_spec, document, incremental
from tests.gateway.controller import heeding
from tests.gateway.definitions import DEFINITIONS
from tests.parity.peer_definitions import peer_crds

NAME, NAMESPACE = "shop", "default"
SETTLED = 40.0  # seconds, by when Ray is asked every ten seconds only
STATUS, PUT = "rayservices/status", "PUT /api/serve"
STEPS = "an upgrade: steps (changes of the route, and Serve configs after the first)"
PEER = {
    "start-up of two applications: status writes": "4",
    "at rest: writes": "0; incremental: 59 a minute",
    "at rest: reads of the API server": "0",
    "at rest: calls to Ray a minute": "60",
    "an upgrade: status writes": "3",
    STEPS: "",
    "a new operator after SIGKILL: writes": "2; incremental: 40 in 40 s",
    "a new operator after SIGKILL: Serve configs sent": "1",
}


class Case(NamedTuple):
    """`spec` is the service's, but for its cluster's; `more` are fields of that."""

    definitions: tuple[dict[str, Any], ...]
    spec: dict[str, Any] = {}
    more: dict[str, Any] = {}

    @property
    def is_stepwise(self) -> bool:
        return bool(self.spec)


def cases() -> tuple[Case, ...]:
    stepwise = Case((*crds(), *DEFINITIONS), {"upgradeStrategy": incremental(50, 25, 1)}, {"enableInTreeAutoscaling": True})
    return Case(crds()), Case(peer_crds()), stepwise


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench services")
    parser.add_argument("what", nargs="?", choices=("one", "many"))
    parser.add_argument("--rest", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--number", type=int, default=1000)
    options = parser.parse_args(words or [])
    with reachable():
        if options.what in (None, "one"):
            table(options.rest)
        if options.what in (None, "many"):
            asyncio.run(many(options.number))


def table(rest: float) -> None:
    found = [asyncio.run(one(case, rest)) for case in cases()]
    print(f"  | figure (at rest: for {rest:g} s) | KubeRay | rayfleet | rayfleet, KubeRay's CRDs | rayfleet, incremental |")
    print("  |---|---|---|---|---|")
    for told, number in PEER.items():
        print(f"  | {told} | {number} | {' | '.join(f'{each[told]:g}' for each in found)} |", flush=True)


def service(name: str, **spec: Any) -> dict[str, Any]:
    made = document(rayClusterDeletionDelaySeconds=1, **spec)
    return {**made, "metadata": {"name": name, "namespace": NAMESPACE}}


async def one(case: Case, rest: float) -> dict[str, float]:
    """The figures by name."""
    async with stand(case.definitions) as place, heeding(place.client) if case.is_stepwise else nullcontext():
        operator = place.start_operator()
        made = service(NAME, rayClusterConfig=cluster_spec(**case.more), **case.spec)
        await place.client.create(RAYSERVICES, made, NAMESPACE)
        await until(lambda: is_ready(place, 1), 60.0)
        await asyncio.sleep(SETTLED)
        found = {"start-up of two applications: status writes": statuses(place, 0)}
        before, calls = len(place.asked()), place.calls()
        await asyncio.sleep(rest)
        found["at rest: writes"] = len(place.writes(before))
        found["at rest: reads of the API server"] = len(place.asked(before)) - len(place.writes(before))
        found["at rest: calls to Ray a minute"] = round((place.calls() - calls).total() * 60 / rest, 1)
        before, calls = len(place.asked()), place.calls()
        await place.client.patch(RAYSERVICES, NAME, NAMESPACE, {"spec": {"rayClusterConfig": cluster_spec(env="2", **case.more)}})
        await until(lambda: is_ready(place, 2), 150.0)
        await place.quiet()
        found["an upgrade: status writes"] = statuses(place, before)
        routed = sum(each.resource == "httproutes" and each.verb == "patch" for each in place.writes(before))
        found[STEPS] = routed + (place.calls() - calls)[PUT] - 1
        before, calls = len(place.asked()), place.calls()
        operator.kill()
        place.start_operator()
        await asyncio.sleep(10.0)
        found["a new operator after SIGKILL: writes"] = len(place.writes(before))
        found["a new operator after SIGKILL: Serve configs sent"] = (place.calls() - calls)[PUT]
    return found


async def many(number: int) -> None:
    """A head each."""
    async with stand(crds()) as place:
        operator = place.start_operator()
        alone = {**cluster_spec(), "workerGroupSpecs": []}
        room = asyncio.Semaphore(16)

        async def create(index: int) -> None:
            async with room:
                await place.client.create(RAYSERVICES, service(f"s{index:04}", rayClusterConfig=alone), NAMESPACE)

        async def all_ready() -> bool:
            await asyncio.sleep(2.0)
            return sum(map(told_ready, await place.client.list(RAYSERVICES, NAMESPACE))) == number

        await asyncio.gather(*map(create, range(number)))
        await until(all_ready, 180.0)
        await asyncio.sleep(SETTLED)
        before, calls = len(place.asked()), place.calls()
        share = await place.share(operator, 30.0)
        show(f"{number} services at rest: operator's CPU", share, 0.3, "core")
        show("the same: memory", operator.sample(), 0, "MB")
        show("the same: calls to Ray a minute, of each", (place.calls() - calls).total() * 2 / number, 12, "")
        show("the same: requests of the API server in 30 s", len(place.asked(before)), 0, "")


def statuses(place: Stand, since: int) -> int:
    """Of the service itself."""
    return sum(each.resource == STATUS for each in place.writes(since))


def told_ready(found: dict[str, Any]) -> bool:
    told = {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())}
    return told.get("Ready") == "True" and told.get("UpgradeInProgress") == "False"


async def is_ready(place: Stand, generation: int) -> bool:
    """With one cluster, which is the one for that generation's spec."""
    (found,) = await place.client.list(RAYSERVICES, NAMESPACE)
    clusters = await place.client.list(RAYCLUSTERS, NAMESPACE)
    return told_ready(found) and found["status"].get("observedGeneration") == generation and len(clusters) == 1
