"""How containers and Pods end: hook, SIGTERM, patience, SIGKILL; then nothing is left, and the API may forget the Pod.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
"""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from rayfleet.api.meta import PODS
from rayfleet.kube.errors import Conflict, NotFound
from rayfleet.kubelet.hooks import run_hook
from rayfleet.kubelet.sandbox import SandboxError
from rayfleet.kubelet.status import seconds_of

if TYPE_CHECKING:
    from rayfleet.kubelet.worker import Worker

DEFAULT_GRACE = 30.0  # seconds
KILLED_IN = 10.0  # seconds within which a process must be gone after SIGKILL; longer means that it hangs in the kernel


class Ending:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.found_ending = worker.pod.metadata.deletion_timestamp is not None
        self.ends: dict[str, asyncio.Event] = {}  # of each attempt, by its uid
        self.hurry = asyncio.Event()

    def grace(self) -> float:
        """The Pod's own termination grace in seconds."""
        seconds = self.worker.pod.spec.get("terminationGracePeriodSeconds")
        return DEFAULT_GRACE if seconds is None else float(seconds)

    def granted(self) -> float:
        """What the deletion grants: all of it when we saw it begin, the rest of it when it began before this kubelet."""
        meta = self.worker.pod.metadata
        seconds = self.grace() if meta.deletion_grace_period_seconds is None else float(meta.deletion_grace_period_seconds)
        if self.found_ending and meta.deletion_timestamp:
            return min(seconds, max(0.0, seconds_of(meta.deletion_timestamp) - time.time()))
        return seconds

    def end_of(self, uid: str) -> asyncio.Event:
        return self.ends.setdefault(uid, asyncio.Event())

    async def run(self) -> None:
        """The Pod's end; may be repeated when the API does not answer. Raises ApiError."""
        worker, meta = self.worker, self.worker.pod.metadata
        if worker.sandbox is not None and not worker.absent:
            worker.health.close()  # nothing is to be restarted any more
            worker.tell("Normal", "Killing", "Stopping the Pod's containers")
            await self.stop_everything(self.granted())
        await worker.setup.clean()
        if not worker.absent:
            if meta.finalizers:  # others wait for the Pod's outcome before they let it go
                worker.outcome = worker.outcome or self.judge()
                await worker.report()
            try:
                await worker.house.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid, grace=0)
            except (NotFound, Conflict):  # gone already, or replaced by a namesake
                pass
        worker.done.set()

    def judge(self) -> str:
        """A deleted Pod has succeeded only if all its containers had come to a good end by themselves."""
        names = [container["name"] for container in self.worker.pod.containers]
        histories = [self.worker.histories.get(name, ()) for name in names]
        return "Succeeded" if all(history and history[-1].exit_code == 0 for history in histories) else "Failed"

    async def stop_everything(self, grace: float) -> None:
        """Sidecars last, in the reverse order of their start: the others may need them to the end."""
        deadline = time.monotonic() + grace
        sidecars = [one["name"] for one in self.worker.pod.init_containers if one.get("restartPolicy") == "Always"]
        await asyncio.gather(*(self.stop_container(name, grace) for name in self.worker.running() if name not in sidecars))
        for name in reversed(sidecars):
            await self.stop_container(name, max(0.0, deadline - time.monotonic()))

    async def stop_container(self, name: str, grace: float) -> None:
        """Returns when the container has ended."""
        attempt = self.worker.running().get(name)
        sandbox = self.worker.sandbox
        if attempt is None or sandbox is None:
            return
        deadline = time.monotonic() + grace
        ended = self.end_of(attempt.uid)
        try:
            await run_hook(self.worker, name, "preStop", grace)
            await sandbox.ask("kill", name=name, signal=int(signal.SIGTERM))
            await self.patience(ended, deadline - time.monotonic())
            if not ended.is_set():
                await sandbox.ask("kill", name=name, signal=int(signal.SIGKILL))
                async with asyncio.timeout(KILLED_IN):
                    await ended.wait()
        except (SandboxError, TimeoutError):  # it has ended meanwhile, or the sandbox will be destroyed with it
            pass

    async def patience(self, ended: asyncio.Event, seconds: float) -> None:
        """Waits for the end, for so long, or until somebody forces the deletion."""
        waits = [asyncio.create_task(event.wait()) for event in (ended, self.hurry)]
        await asyncio.wait(waits, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
