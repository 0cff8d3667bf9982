"""Which Pods are this machine's: gives each a worker, and sweeps away what the API no longer knows."""

from __future__ import annotations

import asyncio
import logging

from rayfleet.kubelet import claims
from rayfleet.kubelet.house import House
from rayfleet.kubelet.network import link_of
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.sandbox import read_identity
from rayfleet.kubelet.sweep import end_pod, remove_pod
from rayfleet.kubelet.worker import Worker
from rayfleet.runtime.informer import Informer

log = logging.getLogger(__name__)


class Pods:
    def __init__(self, house: House, informer: Informer[Pod]) -> None:
        self.house, self.informer = house, informer
        self.workers: dict[str, Worker] = {}  # by the Pod's UID
        self.alive: set[str] = set()  # the nodes whose Pods are seen to

    def start(self) -> None:
        """Begins with what the informer holds, after its first list."""
        pods = list(self.informer.values())
        for pod in pods:  # first of all: no new Pod may be given the address of one that is still to be taken over
            identity = read_identity(self.house.settings.pods / pod.metadata.uid)
            if identity is not None and not pod.finished:
                self.house.network.claim(identity.uid, identity.address)
        for pod in pods:
            self.heed(None, pod)
        self.informer.subscribe(self.heed)

    async def sweep(self) -> None:
        """Removes what is left of Pods that the API no longer knows."""
        known = {pod.metadata.uid for pod in self.informer.values()}
        if self.house.settings.pods.is_dir():
            for directory in sorted(self.house.settings.pods.iterdir()):
                if directory.name not in known:
                    log.info("removing what is left of Pod %s, which the API no longer knows", directory.name)
                    await remove_pod(directory, self.house.settings.kept_logs)
        self.house.cgroups.sweep(known)
        await claims.sweep(self.house.client, self.house.settings)
        for link in await self.house.network.links() - {link_of(uid) for uid in known}:
            await self.house.network.detach(link)

    def heed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            self.house.events.forget(old)
            if worker := self.workers.get(old.metadata.uid):
                worker.vanish()
                self.drop(worker)
            return
        uid, node = new.metadata.uid, new.spec.get("nodeName")
        if uid in self.workers:
            self.workers[uid].update(new)
        elif node in self.alive:
            self.adopt(new)

    def adopt(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.finished and not (self.house.settings.pods / uid).exists() and not pod.metadata.deletion_timestamp:
            return
        worker = self.workers[uid] = Worker(self.house, pod)
        worker.task.add_done_callback(lambda task: self.let_go(worker, task))

    def let_go(self, worker: Worker, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("pod %s: its worker failed", worker.pod.metadata.key, exc_info=error)
        self.drop(worker)

    def drop(self, worker: Worker) -> None:
        """Forgets a worker that has ended and whose Pod is gone; until both, a late update must not start another."""
        if worker.task.done() and worker.absent:
            self.workers.pop(worker.uid, None)

    def wake(self) -> None:
        """Each Pod's worker looks at what is due now."""
        for worker in self.workers.values():
            worker.wake.set()

    async def lose(self, node: str) -> None:
        """The node's power is cut: all that ran there is dead, and nobody sees to it."""
        self.alive.discard(node)
        lost = [worker for worker in self.workers.values() if worker.pod.spec.get("nodeName") == node]
        for worker in lost:
            worker.task.cancel()
        await asyncio.gather(*(worker.task for worker in lost), return_exceptions=True)
        for worker in lost:
            self.workers.pop(worker.uid, None)
        await asyncio.gather(*(end_pod(worker.directory) for worker in lost))

    async def regain(self, node: str) -> None:
        """It has booted: Pods that are still its own start again, as their policies say."""
        self.alive.add(node)
        await self.sweep()
        for pod in list(self.informer.values()):
            self.heed(None, pod)

    async def close(self) -> None:
        """Ends the workers, not the Pods."""
        tasks = [worker.task for worker in self.workers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
