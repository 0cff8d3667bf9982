"""Removes the Pods that `garbage` finds: what a controller manager's Pod garbage collector does."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from rayfleet.api.meta import NODES, PODS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Conflict, NotFound
from rayfleet.runtime.informer import Informer
from rayfleet.scheduling import garbage
from rayfleet.scheduling.node_controller import wall
from rayfleet.scheduling.objects import Node, Pod

log = logging.getLogger(__name__)
PERIOD, QUARANTINE = 20.0, 40.0  # seconds between two looks, and for which a node may be missing, as a controller manager's


class Collector:
    """`scale` shortens its times."""

    def __init__(self, client: Client, pods: Informer[Any], nodes: Informer[Node], scale: float = 1.0) -> None:
        self.client, self.pods, self.nodes, self.scale = client, pods, nodes, scale
        self.missing: dict[str, float] = {}  # node -> since when

    async def run(self) -> None:
        await self.nodes.synced()
        while True:
            await asyncio.sleep(PERIOD * self.scale)
            try:
                await self.collect()
            except ApiError as error:
                log.info("Pods of nobody could not be removed yet: %s", error)

    async def collect(self) -> None:
        for pod in garbage.surplus(self.pods.values()):
            await self.remove(pod, "there are too many finished Pods")
        now, orphans = time.monotonic(), garbage.orphans(self.pods.values(), {node.metadata.name for node in self.nodes.values()})
        self.missing = {node: self.missing.get(node, now) for node in orphans}
        for node, since in self.missing.items():
            if now - since >= QUARANTINE * self.scale and await self.is_gone(node):
                for pod in orphans[node]:
                    await self.remove(pod, f"its node {node} is no more")

    async def is_gone(self, node: str) -> bool:
        """By the API's own word: a cache may be late."""
        try:
            await self.client.get(NODES, node)
        except NotFound:
            return True
        return False

    async def remove(self, pod: Pod, why: str) -> None:
        meta = pod.metadata
        if meta.deletion_timestamp and meta.deletion_grace_period_seconds == 0:  # it waits for who holds it by a finalizer
            return
        log.info("pod %s is removed: %s", meta.key, why)
        status = garbage.last_status(pod, wall())
        try:
            if status is not None:
                body = {"metadata": {"uid": meta.uid}, "status": status}
                await self.client.patch(PODS, meta.name, meta.namespace, body, subresource="status")
            await self.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid, grace=0)
        except (Conflict, NotFound):  # gone, or replaced by a namesake
            pass
