"""Where RayServices and RayJobs are measured: the testbed, hollow Pods, and heads that answer in them."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.ground import Asked, Testbed, real
from bench.heads import DASHBOARD
from bench.load import install_crds
from bench.process import Process
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig

CONFIGURATION = {"apiVersion": "config.ray.io/v1alpha1", "kind": "Configuration", "headAddress": "pod"}
READS = ("get", "list")
QUIET = 3.0  # seconds without a request, after which all is done
PACE = 0.05


class Stand:
    def __init__(self, ground: Testbed, client: Client) -> None:
        self.ground, self.client = ground, client
        self.config = ground.directory / "operator.json"
        self.config.write_text(json.dumps(CONFIGURATION))

    def start_operator(self) -> Process:
        command = [sys.executable, "-m", "rayfleet", "run", "--log-level", "warning", "--config", str(self.config)]
        return self.ground.start("operator", command, user="operator")

    def start_heads(self, seconds: float) -> None:
        self.ground.start("heads", [sys.executable, "-m", "bench.heads", str(seconds)])

    def asked(self, since: int = 0) -> list[Asked]:
        """What the operator asked of the API server, watches and its lease aside."""
        return real(self.ground.requests())[since:]

    def writes(self, since: int = 0) -> list[Asked]:
        return [each for each in self.asked(since) if each.verb not in READS]

    def calls(self) -> Counter[str]:
        """What it asked of Ray so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{DASHBOARD}/", timeout=10) as answer:
            return Counter(json.load(answer))

    def end_jobs(self, status: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{DASHBOARD}/{status}", method="POST"), timeout=10).close()

    async def quiet(self) -> None:
        """Until the operator has asked nothing for a while."""
        seen = -1
        while seen != (now := len(self.asked())):
            seen = now
            await asyncio.sleep(QUIET)

    async def share(self, operator: Process, seconds: float) -> float:
        """Of a core, that the operator takes."""
        before = operator.cpu()
        await asyncio.sleep(seconds)
        return (operator.cpu() - before) / seconds


@asynccontextmanager
async def stand(crds: tuple[dict[str, Any], ...], seconds: float = 0.0) -> AsyncIterator[Stand]:
    """`seconds` is how long a dashboard takes to answer. The network must be that of `bench.ground.reachable`."""
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        ground = Testbed(Path(directory))
        try:
            async with Client(load_kubeconfig(ground.kubeconfig("admin")), user_agent="bench") as client:
                await install_crds(client, crds)
                ground.start_kubelet()
                place = Stand(ground, client)
                place.start_heads(seconds)
                yield place
        finally:
            ground.stop()


async def until(condition: Callable[[], Awaitable[Any]], seconds: float) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s")
        await asyncio.sleep(PACE)
