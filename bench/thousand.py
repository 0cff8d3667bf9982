"""1,000 RayClusters of a head and three workers on the embedded API with the hollow kubelet: time, memory, CPU, requests."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.figure import show
from bench.ground import Ground, counted, real
from bench.load import Load, install_crds
from rayfleet.api.crds import crds
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig

CLUSTERS = int(os.environ.get("CLUSTERS", "1000"))
WORKERS = 3
LIMIT = 600.0
REST = 60.0


async def measure(ground: Ground) -> None:
    async with Client(load_kubeconfig(ground.kubeconfig("admin")), user_agent="bench") as client:
        await install_crds(client, crds())
        ground.start_kubelet()
        operator = ground.start("operator", [sys.executable, "-m", "rayfleet", "run", "--log-level", "warning"], user="operator")
        load = Load(client, WORKERS)
        watching = asyncio.create_task(load.watch())
        sampling = asyncio.create_task(sample(operator))
        await asyncio.sleep(2.0)
        began = await load.create(CLUSTERS)
        await load.wait(lambda: len(load.ready) >= CLUSTERS, LIMIT)
        times = sorted(moment - began for moment in load.ready.values())
        print(f"  {len(times)} of {CLUSTERS} clusters ready")
        show(f"{CLUSTERS} x (1 + {WORKERS}): all ready after", times[-1], 90, "s")
        show("first 100 ready after", times[min(99, len(times) - 1)], 0, "s")
        await asyncio.sleep(3.0)
        show("operator: CPU", operator.cpu(), 10, "s")
        show("operator: resident memory, peak", operator.peak, 90, "MB")
        show("API server: CPU", ground.server.cpu(), 0, "s")
        busy = real(ground.requests())
        show("requests for each cluster", len(busy) / CLUSTERS, 0, "")
        for kind, number in counted(busy).most_common(12):
            print(f"      {kind:32} {number / CLUSTERS:6.2f}")
        print(f"      conflicts                        {sum(line['code'] == 409 for line in busy)}")
        cpu = operator.cpu()
        await asyncio.sleep(REST)
        show(f"requests in {REST:g} s at rest", len(real(ground.requests())) - len(busy), 0, "")
        show("CPU at rest", 100 * (operator.cpu() - cpu) / REST, 0.5, "%")
        for task in (watching, sampling):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def sample(operator: object) -> None:
    while True:
        operator.sample()  # type: ignore[attr-defined]
        await asyncio.sleep(0.5)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        ground = Ground(Path(directory))
        began = time.monotonic()
        try:
            asyncio.run(measure(ground))
        finally:
            ground.stop()
        print(f"  measured in {time.monotonic() - began:.0f} s")
