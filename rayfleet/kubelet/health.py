"""Which of a Pod's running containers have started and are ready, by their probes; a failed startup or liveness probe ends one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rayfleet.kubelet.attempt import Attempt
from rayfleet.kubelet.hooks import run_hook
from rayfleet.kubelet.probes import Prober

if TYPE_CHECKING:
    from rayfleet.kubelet.worker import Worker

POST_START_IN = 120.0  # seconds


class Health:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.probers: dict[str, Prober] = {}
        self.passed_startup: set[str] = set()  # by the attempt's uid, as the next one
        self.passed_readiness: set[str] = set()
        self.being_killed: dict[str, asyncio.Task[None]] = {}
        self.greetings: set[asyncio.Task[None]] = set()
        self.take_over()

    def take_over(self) -> None:
        """What an earlier kubelet found holds until a probe says otherwise: its death must not make a Pod unready."""
        status = self.worker.pod.status
        for told in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
            uid = (told.get("containerID") or "").removeprefix("rayfleet://")
            self.passed_startup |= {uid} if told.get("started") else set()
            self.passed_readiness |= {uid} if told.get("ready") else set()

    def started(self, running: Mapping[str, Attempt]) -> set[str]:
        return {name for name, attempt in running.items() if not self.probe(name, "startup") or attempt.uid in self.passed_startup}

    def ready(self, running: Mapping[str, Attempt]) -> set[str]:
        return {name for name in self.started(running) if not self.probe(name, "readiness") or running[name].uid in self.passed_readiness}

    def probe(self, name: str, kind: str) -> Any:
        return self.container(name).get(kind + "Probe")

    def container(self, name: str) -> Mapping[str, Any]:
        pod = self.worker.pod
        return next((one for one in (*pod.init_containers, *pod.containers) if one["name"] == name), {})

    def follow(self, running: Mapping[str, Attempt]) -> None:
        """Probes those that run, and no others."""
        for name, attempt in running.items():
            prober = self.probers.get(name)
            if prober and prober.attempt.uid == attempt.uid:
                continue
            self.forget(name)
            if any(self.probe(name, kind) for kind in ("startup", "liveness", "readiness")) and self.worker.sandbox:
                address = self.worker.setup.address()
                self.probers[name] = Prober(
                    self.container(name), attempt, address, self.worker.house.web, self.worker.setup.execute, self.hear, self.complain
                )

    def forget(self, name: str) -> None:
        prober = self.probers.pop(name, None)
        if prober:
            prober.close()

    def close(self) -> None:
        for name in list(self.probers):
            self.forget(name)
        for task in (*self.being_killed.values(), *self.greetings):
            task.cancel()

    def complain(self, name: str, words: str) -> None:
        self.worker.tell("Warning", "Unhealthy", words)

    def hear(self, name: str, kind: str, verdict: bool, words: str) -> None:
        running = self.worker.running().get(name)
        if running is None:
            return
        if kind == "readiness":
            (self.passed_readiness.add if verdict else self.passed_readiness.discard)(running.uid)
        elif kind == "startup" and verdict:
            self.passed_startup.add(running.uid)
        elif not verdict and name not in self.being_killed:
            task = asyncio.create_task(self.restart(name, kind))
            self.being_killed[name] = task
            task.add_done_callback(lambda _: self.being_killed.pop(name, None))
        self.worker.wake.set()

    def greet(self, name: str) -> None:
        """Runs the hook of a container that has just started; when it fails, the container is ended."""
        if not (self.container(name).get("lifecycle") or {}).get("postStart"):
            return
        task = asyncio.create_task(self.run_post_start(name))
        self.greetings.add(task)
        task.add_done_callback(self.greetings.discard)

    async def run_post_start(self, name: str) -> None:
        if not await run_hook(self.worker, name, "postStart", POST_START_IN):
            await self.worker.ending.stop_container(name, self.worker.ending.grace())

    async def restart(self, name: str, kind: str) -> None:
        self.worker.tell("Normal", "Killing", f"Container {name} failed {kind} probe, will be restarted")
        own = (self.probe(name, kind) or {}).get("terminationGracePeriodSeconds")
        await self.worker.ending.stop_container(name, float(own) if own is not None else self.worker.ending.grace())
