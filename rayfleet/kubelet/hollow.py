"""A kubelet without processes: Pods become ready, fail or succeed after a set delay. Works over HTTP against any API server.

It is made for thousands of Pods beside the server and the operator on two processors: one POST to bind a Pod, one PATCH that carries its
whole status, one DELETE at its end, and structs that hold only what these need.

The annotation `rayfleet.dev/hollow` on a Pod: `fail` or `fail:CODE` lets it fail (also when it runs already), `pending` leaves it alone.
Pods of Jobs (owner Job, or restartPolicy Never with the label job-name) succeed, unless the annotation `rayfleet.dev/hollow-job` says more.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import msgspec

from rayfleet.api.meta import PODS, ObjectMeta, controller_of
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Conflict, NotFound
from rayfleet.kubelet.node import node_object, node_status, register, renew_for_ever
from rayfleet.kubelet.status import time_text
from rayfleet.runtime.informer import Informer

log = logging.getLogger(__name__)
ANNOTATION = "rayfleet.dev/hollow"
JOB_ANNOTATION = "rayfleet.dev/hollow-job"
JOB_LABELS = ("job-name", "batch.kubernetes.io/job-name")
AT_ONCE = 16  # requests under way
LEASE_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two tries of a request that failed
ADDRESS = "192.0.2.1"  # of the node: from the range that is never in use (RFC 5737)


class Container(msgspec.Struct, frozen=True, gc=False):
    name: str
    image: str = ""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()


class Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: Spec = Spec()
    status: Status = Status()


class Fate(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a Pod: a phase, and the exit code of its containers when they end."""

    phase: str
    code: int = 0


def fate(pod: Pod) -> Fate:
    owner = controller_of(pod.metadata)
    of_job = owner is not None and owner.kind == "Job"
    said = (pod.metadata.annotation(JOB_ANNOTATION) if of_job else "") or pod.metadata.annotation(ANNOTATION)
    wish, _, code = said.partition(":")
    if wish == "fail":
        return Fate("Failed", int(code) if code.isdigit() else 1)
    if wish == "pending":
        return Fate("Pending")
    if of_job or (pod.spec.restart_policy == "Never" and any(pod.metadata.label(label) for label in JOB_LABELS)):
        return Fate("Succeeded")
    return Fate("Running")


def whole_status(pod: Pod, end: Fate, address: str, now: float) -> dict[str, Any]:
    """All that a kubelet would have written by then, at once."""
    stamp = time_text(now)
    ready = "True" if end.phase == "Running" else "False"
    conditions = {"PodScheduled": "True", "Initialized": "True", "ContainersReady": ready, "Ready": ready}
    ended = {"terminated": {"exitCode": end.code, "reason": "Error" if end.code else "Completed", "startedAt": stamp, "finishedAt": stamp}}
    initial = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}}
    state = {"running": {"startedAt": stamp}} if end.phase == "Running" else ended
    status: dict[str, Any] = {
        "phase": end.phase,
        "hostIP": ADDRESS,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": stamp,
        "conditions": [{"type": kind, "status": held, "lastTransitionTime": stamp} for kind, held in conditions.items()],
        "containerStatuses": [container_status(one, pod, state, end.phase == "Running") for one in pod.spec.containers],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [container_status(one, pod, initial, True) for one in pod.spec.init_containers]
    return status


def container_status(container: Container, pod: Pod, state: dict[str, Any], ready: bool) -> dict[str, Any]:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "containerID": f"hollow://{pod.metadata.uid}/{container.name}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


class Turns:
    """At most so many at once; of those who wait the lowest number goes first."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.waiting: list[tuple[int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, number: int) -> AsyncIterator[None]:
        if self.room:
            self.room -= 1
        else:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self.waiting, (number, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.pass_on()
                raise
        try:
            yield
        finally:
            self.pass_on()

    def pass_on(self) -> None:
        while self.waiting:
            _, turn = heapq.heappop(self.waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self.room += 1


class Hollow:
    def __init__(self, client: Client, node: str, delay: float, judge: Callable[[Pod], Fate] = fate) -> None:
        self.client, self.node, self.delay, self.judge = client, node, delay, judge
        self.cache: Informer[Pod] = Informer(client, PODS, Pod)
        self.cache.subscribe(self.heed)
        self.lives: dict[str, asyncio.Task[None]] = {}  # what is under way, by the Pod's UID
        self.turns = Turns(AT_ONCE)
        self.begun = count()
        self.addresses = 0

    def heed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None and (life := self.lives.pop(old.metadata.uid, None)):
                life.cancel()
            return
        if new.spec.node_name not in ("", self.node):
            return
        if new.metadata.deletion_timestamp:
            if new.spec.node_name and not (old is not None and old.metadata.deletion_timestamp):
                self.begin(new, self.remove(new))
            return
        end = self.judge(new)
        if new.status.phase in ("", "Pending") and end.phase != "Pending":
            if new.metadata.uid not in self.lives:
                self.begin(new, self.live(new, end))
        elif new.status.phase == "Running" and end.phase == "Failed":
            self.begin(new, self.tell(new, end, next(self.begun)))

    def begin(self, pod: Pod, course: Coroutine[Any, Any, None]) -> None:
        uid = pod.metadata.uid
        if life := self.lives.pop(uid, None):
            life.cancel()
        task = self.lives[uid] = asyncio.create_task(course)
        task.add_done_callback(lambda done: self.lives.pop(uid, None) if self.lives.get(uid) is done else None)

    async def live(self, pod: Pod, end: Fate) -> None:
        meta, number = pod.metadata, next(self.begun)
        if not pod.spec.node_name:
            target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta.name, "uid": meta.uid}, "target": target}
            if not await self.insist(
                number, lambda: self.client.create(PODS, body, meta.namespace, name=meta.name, subresource="binding", type=bytes)
            ):
                return
        await asyncio.sleep(self.delay)
        await self.tell(pod, end, number)

    async def tell(self, pod: Pod, end: Fate, number: int) -> None:
        meta = pod.metadata
        self.addresses += 1
        address = f"10.{128 + (self.addresses >> 16) % 64}.{self.addresses >> 8 & 255}.{self.addresses & 255}"
        body = {"metadata": {"uid": meta.uid}, "status": whole_status(pod, end, address, time.time())}
        await self.insist(number, lambda: self.client.patch(PODS, meta.name, meta.namespace, body, subresource="status", type=bytes))

    async def remove(self, pod: Pod) -> None:
        meta = pod.metadata
        await self.insist(next(self.begun), lambda: self.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid, grace=0))

    async def insist(self, number: int, request: Callable[[], Coroutine[Any, Any, Any]]) -> bool:
        """Tries until it succeeds; False when the Pod is gone or is another's. The lowest number goes first: what is begun is ended."""
        pause = FIRST_PAUSE
        while True:
            try:
                async with self.turns.taken(number):
                    await request()
                return True
            except (NotFound, Conflict):
                return False
            except ApiError as error:
                log.info("%s; trying again", error)
                await asyncio.sleep(error.retry_after or pause)
                pause = min(pause * 2, LONGEST_PAUSE)


async def run_hollow(
    client: Client,
    *,
    node: str = "hollow",
    delay: float = 0.1,
    ready: Callable[[], None] = lambda: None,
    judge: Callable[[Pod], Fate] = fate,
) -> None:
    """Plays the kubelet of a node for ever; ends by cancellation. Every Pod that has no node becomes one of its own, and what `judge` says.

    Raises ApiError when the node cannot be registered.
    """
    await register(client, node_object(node), node_status(node, ADDRESS, 10250, time.time()))
    hollow = Hollow(client, node, delay, judge)
    tasks = [asyncio.create_task(hollow.cache.run()), asyncio.create_task(renew_for_ever(client, node, LEASE_SECONDS))]
    try:
        await hollow.cache.synced()
        ready()
        await asyncio.gather(*tasks)
    finally:
        for task in (*tasks, *hollow.lives.values()):
            task.cancel()
