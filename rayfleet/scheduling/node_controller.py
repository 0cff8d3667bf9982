"""Watches whether nodes renew their leases; marks those that do not, and evicts Pods that do not tolerate where they are."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

from rayfleet.api.meta import LEASES, NODES, PODS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Conflict, NotFound
from rayfleet.runtime.informer import Informer
from rayfleet.scheduling import loss
from rayfleet.scheduling.objects import Lease, Node, Pod
from rayfleet.scheduling.taints import FOR_EVER

log = logging.getLogger(__name__)
LEASE_NAMESPACE = "kube-node-lease"
LONGEST_SLEEP = 60.0  # seconds
RETRY = 1.0


class NodeController:
    """`scale` shortens the times that Pods tolerate. Silence is measured by this process's own clock: a machine that slept, or whose clock
    was set, has lost nobody."""

    def __init__(self, client: Client, pods: Informer[Any], nodes: Informer[Node], scale: float = 1.0) -> None:
        self.client, self.pods, self.nodes, self.scale = client, pods, nodes, scale
        self.leases: Informer[Lease] = Informer(client, LEASES, Lease, namespace=LEASE_NAMESPACE)
        self.heard: dict[str, float] = {}  # node -> when its lease was last seen to be renewed
        self.lost: set[str] = set()
        self.tainted: dict[str, dict[str, float]] = {}  # node -> key of a NoExecute taint -> when it was first seen
        self.changed = asyncio.Event()

    async def run(self) -> None:
        following = asyncio.create_task(self.leases.run())
        try:
            await self.leases.synced()
            await self.nodes.synced()
            self.leases.subscribe(self.hear)
            for lease in list(self.leases.values()):
                self.hear(None, lease)
            for cache in (self.nodes, self.pods):
                cache.subscribe(lambda old, new: self.changed.set())
            while True:
                self.changed.clear()
                alarm = asyncio.get_running_loop().call_later(await self.attempt(), self.changed.set)
                try:
                    await self.changed.wait()
                finally:
                    alarm.cancel()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    def hear(self, old: Lease | None, new: Lease | None) -> None:
        lease = new or old
        assert lease is not None
        if new is None:
            self.heard.pop(lease.metadata.name, None)
        elif old is None or old.spec.get("renewTime") != new.spec.get("renewTime"):
            self.heard[lease.metadata.name] = time.monotonic()

    async def attempt(self) -> float:
        """Seconds until it must look again though nothing happens."""
        try:
            return await self.look()
        except ApiError as error:
            log.info("the nodes could not be seen to: %s", error)
            return error.retry_after or RETRY

    async def look(self) -> float:
        now = time.monotonic()
        due = [now + LONGEST_SLEEP]
        for node in list(self.nodes.values()):
            runs_out = self.runs_out(node.metadata.name)
            taints = node.spec.get("taints") or []
            if runs_out <= now:
                if node.metadata.name not in self.lost and (loss.is_ready(node.status) or not loss.is_marked(taints)):
                    await self.lose(node)
                self.lost.add(node.metadata.name)
            else:
                self.lost.discard(node.metadata.name)
                due.append(runs_out)
                if loss.is_marked(taints) and loss.is_ready(node.status):
                    await self.find(node)
            due.append(await self.evict(node, now))
        return max(0.0, min(due) - time.monotonic())

    def runs_out(self, node: str) -> float:
        """When its lease does; never without one: then nobody has promised to renew it."""
        lease, heard = self.leases.get(LEASE_NAMESPACE, node), self.heard.get(node)
        if lease is None or heard is None:
            return FOR_EVER
        return heard + float(lease.spec.get("leaseDurationSeconds") or FOR_EVER)

    async def lose(self, node: Node) -> None:
        name, stamp = node.metadata.name, wall()
        log.warning("node %s has not renewed its lease and is lost", name)
        conditions = loss.lost_conditions(node.status, stamp)
        await self.client.patch(NODES, name, None, {"status": {"conditions": conditions}}, subresource="status")
        await self.client.patch(NODES, name, None, {"spec": {"taints": loss.lost_taints(node.spec.get("taints") or [], stamp)}})
        for pod in self.on(name):
            conditions = loss.unready(pod.status.get("conditions") or (), stamp) or []
            if conditions:
                body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": conditions}}
                await self.forgiving(self.client.patch(PODS, pod.metadata.name, pod.metadata.namespace, body, subresource="status"))

    async def find(self, node: Node) -> None:
        log.warning("node %s is back", node.metadata.name)
        taints = loss.found_taints(node.spec.get("taints") or [])
        await self.client.patch(NODES, node.metadata.name, None, {"spec": {"taints": taints}})

    async def evict(self, node: Node, now: float) -> float:
        """Removes the Pods that must not stay; gives when the next one must not."""
        name, taints = node.metadata.name, node.spec.get("taints") or []
        keys = {taint["key"] for taint in taints if taint.get("effect") == "NoExecute"}
        since = self.tainted[name] = {key: self.tainted.get(name, {}).get(key, now) for key in sorted(keys)}
        if not keys:
            return FOR_EVER
        due, given_up = FOR_EVER, loss.is_given_up(taints, loss.is_ready(node.status))
        for pod in self.on(name):
            meta = pod.metadata
            if given_up and meta.deletion_timestamp:
                await self.forgiving(self.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid, grace=0))
            elif not meta.deletion_timestamp:
                at = loss.evicted_at(pod.spec, taints, since, self.scale)
                if at <= now:
                    await self.remove(pod)
                else:
                    due = min(due, at)
        return due

    async def remove(self, pod: Pod) -> None:
        meta = pod.metadata
        log.warning("pod %s is evicted from node %s", meta.key, pod.spec.get("nodeName"))
        others = [one for one in pod.status.get("conditions") or () if one.get("type") != loss.DISRUPTED["type"]]
        conditions = [*others, {**loss.DISRUPTED, "lastProbeTime": None, "lastTransitionTime": wall()}]
        body = {"metadata": {"uid": meta.uid}, "status": {"conditions": conditions}}
        await self.forgiving(self.client.patch(PODS, meta.name, meta.namespace, body, subresource="status"))
        await self.forgiving(self.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid))

    async def forgiving(self, request: Any) -> None:
        """What is gone, or another by now, needs nothing more."""
        try:
            await request
        except (Conflict, NotFound):
            pass

    def on(self, node: str) -> list[Pod]:
        """The node's Pods that have not finished."""
        return [pod for pod in self.pods.values()
                if pod.spec.get("nodeName") == node and pod.status.get("phase") not in ("Succeeded", "Failed")]  # fmt: skip


def wall() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
