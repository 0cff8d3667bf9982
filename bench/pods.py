"""The local fleet's kubelet: how long Pods take to start and to go, what it costs to look after them, and how long Ray takes in them."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bench.figure import show
from bench.laptop import EXAMPLES, fleet, process
from bench.process import cpu_of, memory_of
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kubelet.objects import Pod
from rayfleet.runtime.informer import Informer

SHORT, MANY, PROBED, REST = 30, 200, 20, 30.0
WEB = "from http.server import *; HTTPServer(('', 80), SimpleHTTPRequestHandler).serve_forever()"


class Watched:
    """The fleet's Pods as they change."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cache: Informer[Pod] = Informer(client, PODS, Pod)
        self.changed = asyncio.Event()
        self.cache.subscribe(lambda old, new: self.changed.set())

    async def until(self, condition: Callable[[Collection[Pod]], bool], patience: float = 180.0) -> float:
        """Seconds until the condition is true of all Pods."""
        began = time.monotonic()
        async with asyncio.timeout(patience):
            while not condition(self.cache.values()):
                self.changed.clear()
                await self.changed.wait()
        return time.monotonic() - began

    async def apply(self, name: str, command: list[str], **more: Any) -> None:
        policy = more.pop("policy", "Always")
        spec = {"containers": [{"name": "main", "image": "any", "command": command, **more}], "restartPolicy": policy}
        body = {"metadata": {"name": name}, "spec": {**spec, "terminationGracePeriodSeconds": 1}}
        await self.client.create(PODS, body, "default")

    async def clear(self) -> None:
        names = [pod.metadata.name for pod in self.cache.values()]
        await asyncio.gather(*(self.client.delete(PODS, name, "default") for name in names))
        await self.until(lambda pods: not pods)


def is_ready(pod: Pod) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in pod.status.get("conditions") or ())


async def short_pods(watched: Watched) -> None:
    times = []
    for number in range(SHORT):
        began = time.monotonic()
        await watched.apply(f"short-{number}", ["true"], policy="Never")
        await watched.until(lambda pods: all(pod.status.get("phase") == "Succeeded" for pod in pods))
        times.append(1000 * (time.monotonic() - began))
    await watched.clear()
    show("Pod with `true`: created to Succeeded, p50", statistics.median(times), 150, "ms")


async def many_pods(watched: Watched, state: Path, kubelet: int) -> None:
    began, before = time.monotonic(), memory_of(kubelet)
    await asyncio.gather(*(watched.apply(f"many-{number}", ["sleep", "100000"]) for number in range(MANY)))
    await watched.until(lambda pods: len(pods) == MANY and all(map(is_ready, pods)))
    took, most = time.monotonic() - began, memory_of(kubelet)
    await watched.clear()
    assert not list((state / "kubelet" / "pods").iterdir())
    show(f"{MANY} small Pods: created to all ready", took, 0, "s")
    show(f"{MANY} small Pods: started and gone, nothing left", time.monotonic() - began, 60, "s")
    show("kubelet without Pods: resident memory", before, 60, "MB")
    show(f"kubelet with {MANY} Pods: resident memory", most, 60 + 0.3 * MANY, "MB")


async def probed_pods(watched: Watched, kubelet: int, period: int, bound: float) -> None:
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": period}
    for number in range(PROBED):
        await watched.apply(f"web-{number}", ["python", "-S", "-c", WEB], readinessProbe=probe, livenessProbe=probe)
    await watched.until(lambda pods: len(pods) == PROBED and all(map(is_ready, pods)))
    await asyncio.sleep(5.0)
    cpu = cpu_of(kubelet)
    await asyncio.sleep(REST)
    show(f"kubelet with {PROBED} Pods, two HTTP probes each every {period} s: CPU", 100 * (cpu_of(kubelet) - cpu) / REST, bound, "%")
    await watched.clear()


async def ray(watched: Watched) -> None:
    """The first head of a machine reads its programs from the disk; the second one is warm."""
    import yaml

    body: dict[str, Any] = yaml.safe_load((EXAMPLES / "minimal.yaml").read_text())
    name, group = body["metadata"]["name"], body["spec"]["workerGroupSpecs"][0]
    for turn in ("cold", "warm"):
        group |= {"replicas": 0, "maxReplicas": 10}
        began = time.monotonic()
        await watched.client.create(RAYCLUSTERS, body, "default")
        await watched.until(lambda pods: len(pods) == 1 and all(map(is_ready, pods)))
        show(f"head: created to Ready, {turn}", time.monotonic() - began, 8 if turn == "warm" else 0, "s")
        if turn == "warm":
            for count, bound in ((1, 5), (6, 15)):
                group["replicas"] = count
                began = time.monotonic()
                await watched.client.patch(RAYCLUSTERS, name, "default", {"spec": {"workerGroupSpecs": [group]}})
                await watched.until(lambda pods, count=count: len(pods) == 1 + count and all(map(is_ready, pods)))
                show("worker: asked for to Ready" if count == 1 else "five workers at once", time.monotonic() - began, bound, "s")
        await watched.client.delete(RAYCLUSTERS, name, "default")
        await watched.until(lambda pods: not pods)


async def measure(state: Path) -> None:
    kubelet = process(state, "kubelet")
    async with Client(load_kubeconfig(state / "kubeconfig")) as client:
        watched = Watched(client)
        following = asyncio.create_task(watched.cache.run())
        await watched.cache.synced()
        await short_pods(watched)
        await many_pods(watched, state, kubelet)
        await probed_pods(watched, kubelet, 10, 1)
        await probed_pods(watched, kubelet, 1, 0)
        await ray(watched)
        following.cancel()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        state = Path(directory) / "pods"
        try:
            fleet(state, "up", "--auth", "disabled")
            asyncio.run(measure(state))
        finally:
            fleet(state, "down", "--delete-data")


if __name__ == "__main__":
    main()
