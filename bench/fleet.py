"""The yardstick: any operator that serves ray.io/v1, under N clusters, on the embedded API or on a real control plane.

python -m bench fleet --clusters 1000 --workers 3 --on testbed
python -m bench fleet --operator 'COMMAND' --json peer.json      any operator that reads $KUBECONFIG
python -m bench fleet --operator floor                           only the writes, no decisions
python -m bench fleet --compare peer.json ours.json              ratios
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.figure import show
from bench.ground import GROUNDS, Ground, counted, real
from bench.load import Load, install_crds
from bench.process import Process
from rayfleet.api.crds import crds
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig

OURS = f"{sys.executable} -m rayfleet run --log-level warning"
FLOOR = f"{sys.executable} -m bench.floor"
LIMIT = 900.0


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench fleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operator", default="rayfleet", metavar="COMMAND", help="rayfleet, floor, or a command")
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--on", choices=sorted(GROUNDS), default="embedded")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds at rest that are looked at")
    parser.add_argument("--adopt", action="store_true", help="kill the operator, start another, count; then delete all")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="print the ratios B / A of two such files")
    return parser.parse_args(words)


class Bench:
    def __init__(self, ground: Ground, options: argparse.Namespace, client: Client) -> None:
        self.ground = ground
        self.options = options
        self.client = client
        self.load = Load(client, options.workers)
        self.figures: dict[str, float] = {}

    def figure(self, name: str, value: float, unit: str, bound: float = 0.0) -> None:
        self.figures[name] = value
        show(name, value, bound, unit)

    def start_operator(self) -> Process:
        command = {"rayfleet": OURS, "floor": FLOOR}.get(self.options.operator, self.options.operator)
        return self.ground.start("operator", shlex.split(command), user="operator")

    async def run(self) -> None:
        await install_crds(self.client, crds())
        self.ground.start_kubelet()
        operator = self.start_operator()
        background = [asyncio.create_task(self.load.watch()), asyncio.create_task(sample(operator))]
        await asyncio.sleep(3.0)
        server = self.ground.server_cpu()
        began = await self.load.create(self.options.clusters)
        self.figure("creation of the load", time.monotonic() - began, "s")
        await self.load.wait(lambda: len(self.load.ready) >= self.options.clusters, LIMIT)
        await self.settled()
        self.times(began)
        self.costs(operator, server)
        await self.rest(operator)
        if self.options.adopt:
            await self.adoption(operator)
            await self.deletion()
        for task in background:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def settled(self, quiet: float = 3.0) -> None:
        """Until the operator has asked nothing for a while."""
        seen = -1
        while seen != (now := len(real(self.ground.requests()))):
            seen = now
            await asyncio.sleep(quiet)

    def times(self, began: float) -> None:
        times = sorted(moment - began for moment in self.load.ready.values())
        waits = sorted(moment - self.load.created[name] for name, moment in self.load.ready.items())
        print(f"  {len(times)} of {self.options.clusters} clusters ready")
        self.figure("all ready after", times[-1], "s")
        self.figure("first 100 ready after", times[min(99, len(times) - 1)], "s")
        self.figure("creation to ready, p50", waits[len(waits) // 2], "s")
        self.figure("creation to ready, p99", waits[int(len(waits) * 0.99)], "s")

    def costs(self, operator: Process, server: float) -> None:
        number = self.options.clusters
        asked = real(self.ground.requests())
        self.figure("operator: CPU", operator.cpu(), "s")
        self.figure("operator: resident memory, peak", operator.peak, "MB")
        self.figure("API server: CPU", self.ground.server_cpu() - server, "s")
        self.figure("requests for each cluster", len(asked) / number, "")
        self.figure("conflicts", sum(each.code == 409 for each in asked), "")
        for kind, times in counted(asked).most_common(12):
            print(f"      {kind:36} {times / number:6.2f}")
            self.figures[f"requests: {kind}"] = times / number

    async def rest(self, operator: Process) -> None:
        seconds, cpu, asked = self.options.idle, operator.cpu(), len(real(self.ground.requests()))
        await asyncio.sleep(seconds)
        self.figure("at rest: requests a minute", (len(real(self.ground.requests())) - asked) * 60 / seconds, "")
        self.figure("at rest: CPU", 100 * (operator.cpu() - cpu) / seconds, "%")

    async def adoption(self, operator: Process) -> None:
        asked = len(real(self.ground.requests()))
        operator.kill()
        began = time.monotonic()
        self.start_operator()
        await self.settled(4.0)
        requests = real(self.ground.requests())[asked:]
        self.figure("adoption: settled within", time.monotonic() - began, "s")
        self.figure("adoption: writes", sum(each.verb not in ("get", "list") for each in requests), "")
        self.figure("adoption: reads", sum(each.verb in ("get", "list") for each in requests), "")

    async def deletion(self) -> None:
        from rayfleet.api.meta import RAYCLUSTERS

        began = time.monotonic()
        room = asyncio.Semaphore(32)

        async def delete(name: str) -> None:
            async with room:
                await self.client.delete(RAYCLUSTERS, name, "default")

        await asyncio.gather(*(delete(name) for name in self.load.created))
        await self.load.wait(lambda: len(self.load.gone) >= self.options.clusters, LIMIT)
        self.figure("all deleted after", time.monotonic() - began, "s")


async def sample(operator: Process) -> None:
    while True:
        operator.sample()
        await asyncio.sleep(0.5)


async def measure(ground: Ground, options: argparse.Namespace) -> dict[str, float]:
    async with Client(load_kubeconfig(ground.kubeconfig("admin")), user_agent="bench") as client:
        bench = Bench(ground, options, client)
        await bench.run()
        return bench.figures


def compare(first: Path, second: Path) -> None:
    one, other = (json.loads(path.read_text()) for path in (first, second))
    for name in one["figures"]:
        a, b = one["figures"][name], other["figures"].get(name)
        if b is not None:
            print(f"  {name:44} {a:10.2f} {b:10.2f} {f'x {b / a:.2f}' if a else ''}")


def main(words: list[str] | None = None) -> None:
    options = arguments(words or [])
    if options.compare:
        compare(*options.compare)
        return
    print(f"  {options.operator} on {options.on}: {options.clusters} x (1 + {options.workers})")
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        ground = GROUNDS[options.on](Path(directory))
        try:
            figures = asyncio.run(measure(ground, options))
        finally:
            ground.stop()
    if options.json:
        report: dict[str, Any] = {"operator": options.operator, "on": options.on, "clusters": options.clusters, "figures": figures}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
