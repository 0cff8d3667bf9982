"""Evicts Pods that take more of the disk than their specs allow."""

from __future__ import annotations

import asyncio
import logging
import time

from rayfleet.kubelet import disk
from rayfleet.kubelet.pods import Pods
from rayfleet.kubelet.worker import Worker

log = logging.getLogger(__name__)
LOOK = 10.0  # seconds between two looks, as a kubelet's
SHARE = 100  # a look that takes long is followed by a pause that many times as long


class Evictions:
    def __init__(self, pods: Pods, scale: float = 1.0) -> None:
        self.pods, self.scale = pods, scale

    async def run(self) -> None:
        """Until cancelled."""
        took = 0.0
        while True:
            await asyncio.sleep(max(LOOK * self.scale, SHARE * took))
            began = time.monotonic()
            await self.look()
            took = time.monotonic() - began

    async def look(self) -> None:
        for worker in list(self.pods.workers.values()):
            try:
                await self.look_at(worker)
            except (AttributeError, LookupError, TypeError, ValueError) as error:  # its worker says what is not understood of its spec
                log.info("pod %s: what it takes of the disk is not judged: %s", worker.pod.metadata.key, error)

    async def look_at(self, worker: Worker) -> None:
        spec = worker.pod.spec
        if worker.sandbox is None or worker.outcome or not disk.is_bounded(spec):
            return
        why = disk.excess(spec, await asyncio.to_thread(disk.used, worker.directory, spec))
        if why:
            worker.evict(why)
