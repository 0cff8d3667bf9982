"""A RayService's life, counted: status writes and calls to Ray, beside those that KubeRay was recorded to make.

The operator is the real one, on the embedded API with the hollow kubelet; Serve only pretends (`rayfleet.sim.serve`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.sim.serve import FakeServe
from rayfleet.sim.service_specs import cluster_spec, document
from tests.parity.stage import Stage, operator, stage, until

REST = 60.0  # seconds
SETTLED = 25.0  # by when Ray is asked every ten seconds only


def main() -> None:
    print("  | figure | KubeRay | rayfleet |")
    print("  |---|---|---|")
    for row in asyncio.run(life()):
        print(f"  | {' | '.join(map(str, row))} |", flush=True)


async def life() -> list[tuple[str, str, int]]:
    serve = FakeServe(time.time)
    rows = []
    async with stage(ray=serve) as place:
        made = document(rayClusterDeletionDelaySeconds=1)
        made["metadata"] = {"name": "shop", "namespace": place.namespace}
        await place.client.create(RAYSERVICES, made)
        await until(lambda: is_ready(place, 1), 60.0)
        await asyncio.sleep(SETTLED)
        rows.append(("start-up of two applications: status writes", "4", statuses(place, 0)))
        before, calls = len(place.written()), sum(serve.calls.values())
        await asyncio.sleep(REST)
        rows.append(("a minute at rest: writes", "0", len(place.written()) - before))
        rows.append(("a minute at rest: calls to Ray", "60", sum(serve.calls.values()) - calls))
        before = len(place.written())
        await place.client.patch(RAYSERVICES, "shop", place.namespace, {"spec": {"rayClusterConfig": cluster_spec(env="2")}})
        await until(lambda: is_ready(place, 2), 90.0)
        await asyncio.sleep(3.0)
        rows.append(("a zero-downtime upgrade: status writes", "3", statuses(place, before)))
        before, puts = len(place.written()), len(serve.puts)
        place.manager.stop()
        async with operator(place.connection, Configuration(), ray=serve):
            await asyncio.sleep(5.0)
        rows.append(("a new operator process: writes", "2", len(place.written()) - before))
        rows.append(("a new operator process: Serve configs sent", "1", len(serve.puts) - puts))
    return rows


def statuses(place: Stage, since: int) -> int:
    """Of the service itself."""
    found = Counter(f"{entry.resource}/{entry.subresource}" for entry in place.written()[since:])
    return found["rayservices/status"]


async def is_ready(place: Stage, generation: int) -> bool:
    """With one cluster, which is the one for that generation's spec."""
    (service,) = await place.client.list(RAYSERVICES, place.namespace)
    status = service.get("status", {})
    told = {each["type"]: each["status"] for each in status.get("conditions", ())}
    clusters = await place.client.list(RAYCLUSTERS, place.namespace)
    over = told.get("Ready") == "True" and told.get("UpgradeInProgress") == "False"
    return over and status.get("observedGeneration") == generation and len(clusters) == 1
