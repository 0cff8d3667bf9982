"""Gives every Pod that waits a node, or says why there is none: in its condition PodScheduled, and as an event when that changes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Conflict, NotFound
from rayfleet.runtime.informer import Informer
from rayfleet.scheduling.amounts import amounts_of
from rayfleet.scheduling.decide import decide
from rayfleet.scheduling.fit import Site
from rayfleet.scheduling.objects import PRETENDS, Node, Pod
from rayfleet.scheduling.pods import Taken, Waiting, taken

log = logging.getLogger(__name__)
NAME = "default-scheduler"
RETRY = 2.0  # seconds
Tell = Callable[[Any, str, str, str], None]


class Scheduler:
    """`tell(pod, type, reason, note)` makes an event. Both caches are run by somebody else, that of Pods is synced before `run`."""

    def __init__(self, client: Client, pods: Informer[Any], nodes: Informer[Node], tell: Tell) -> None:
        self.client, self.pods, self.nodes, self.tell = client, pods, nodes, tell
        self.waiting: dict[str, Pod] = {}
        self.taken: dict[str, Taken] = {}  # by the Pod's UID; also of those that are being bound
        self.binding: dict[str, asyncio.Task[None]] = {}
        self.refused: dict[str, str] = {}  # what was told last
        self.changed = asyncio.Event()

    async def run(self) -> None:
        try:
            await self.nodes.synced()
            self.nodes.subscribe(lambda old, new: self.changed.set())
            for pod in list(self.pods.values()):
                self.heed(None, pod)
            self.pods.subscribe(self.heed)
            while True:
                await self.changed.wait()
                self.changed.clear()
                await self.place()
        finally:
            tasks = list(self.binding.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def heed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        uid = pod.metadata.uid
        if new is None or new.status.get("phase") in ("Succeeded", "Failed"):
            gone = [self.waiting.pop(uid, None), self.taken.pop(uid, None), self.refused.pop(uid, None)]
            if any(gone):
                self.changed.set()
        elif new.spec.get("nodeName"):
            self.waiting.pop(uid, None)
            self.refused.pop(uid, None)
            before, self.taken[uid] = self.taken.get(uid), taken_by(new, new.spec["nodeName"])
            if self.taken[uid] != before:  # others may wait for a neighbour as this one is now
                self.changed.set()
        elif waits(new) and uid not in self.taken:
            self.waiting[uid] = new
            self.changed.set()
        elif not waits(new):
            self.waiting.pop(uid, None)

    async def place(self) -> None:
        if not self.waiting:
            return
        answers = decide(map(waiting, self.waiting.values()), map(site, self.nodes.values()), self.taken.values())
        pods_by_uid = dict(self.waiting)
        for uid, answer in answers.items():
            if answer.node:
                pod = self.waiting.pop(uid)
                self.taken[uid] = taken_by(pod, answer.node)
                self.changed.set()  # those before it in the row may have waited for it
                self.binding[uid] = asyncio.create_task(self.bind(pod, answer.node))
        for uid, answer in answers.items():
            if answer.refusal and self.refused.get(uid) != answer.refusal:
                await self.refuse(pods_by_uid[uid], answer.refusal)

    async def bind(self, pod: Pod, node: str) -> None:
        meta = pod.metadata
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta.name, "uid": meta.uid}, "target": target}
        try:
            await self.client.create(PODS, body, meta.namespace, name=meta.name, subresource="binding")
        except (Conflict, NotFound):  # placed by another, or gone: the watch will tell
            pass
        except ApiError as error:
            log.warning("pod %s could not be bound: %s", meta.key, error)
            await asyncio.sleep(error.retry_after or RETRY)
            self.taken.pop(meta.uid, None)
            known = self.pods.get(meta.namespace, meta.name)
            if known is not None and known.metadata.uid == meta.uid:
                self.heed(None, known)
        finally:
            self.binding.pop(meta.uid, None)

    async def refuse(self, pod: Pod, refusal: str) -> None:
        meta = pod.metadata
        self.refused[meta.uid] = refusal
        self.tell(pod, "Warning", "FailedScheduling", refusal)
        now = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        others = [one for one in pod.status.get("conditions") or () if one.get("type") != "PodScheduled"]
        before: dict[str, Any] = next((one for one in pod.status.get("conditions") or () if one.get("type") == "PodScheduled"), {})
        if before.get("message") == refusal:
            return
        since = before.get("lastTransitionTime") if before.get("status") == "False" else now
        condition: dict[str, Any] = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": refusal}
        condition |= {"lastProbeTime": None, "lastTransitionTime": since}
        body = {"metadata": {"uid": meta.uid}, "status": {"phase": "Pending", "conditions": [*others, condition]}}
        try:
            await self.client.patch(PODS, meta.name, meta.namespace, body, subresource="status")
        except (Conflict, NotFound):  # it is gone
            pass
        except ApiError as error:
            log.info("pod %s: why it has no node could not be told: %s", meta.key, error)
            self.refused.pop(meta.uid, None)


def waits(pod: Pod) -> bool:
    """Is it ours to find it a node?"""
    if pod.metadata.deletion_timestamp or pod.spec.get("schedulingGates"):
        return False
    return pod.spec.get("schedulerName") in (None, "", NAME)


def waiting(pod: Pod) -> Waiting:
    meta = pod.metadata
    return Waiting(meta.uid, meta.name, pod.spec, meta.creation_timestamp or "", meta.namespace, meta.labels or {})


def taken_by(pod: Pod, node: str) -> Taken:
    meta = pod.metadata
    return taken(pod.spec, node, meta.namespace, meta.labels, leaving=meta.deletion_timestamp is not None)


def site(node: Node) -> Site:
    """The node without any Pod."""
    has = amounts_of(node.status.get("allocatable") or node.status.get("capacity"))
    meta, spec = node.metadata, node.spec
    taints, off = tuple(spec.get("taints") or ()), bool(spec.get("unschedulable"))
    return Site(meta.name, meta.labels or {}, taints, off, has, has, pretends=meta.annotation(PRETENDS) == "true")
