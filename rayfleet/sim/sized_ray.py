"""Ray as far as the size of a cluster matters: nodes that join with their Pods, tasks that wait, run and end, and drains, on virtual time.

A life is that of one head Pod. What ran on a node that is lost waits again; what was asked of a head that is gone is asked of the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.ray.gcs import Head
from rayfleet.ray.gcs_messages import DEAD, DRAINING, IDLE, IDLE_TERMINATION, RUNNING, message, parsed
from rayfleet.sim.kubelet import is_ready
from rayfleet.sim.store import TERMINAL, Obj

if TYPE_CHECKING:
    from rayfleet.sim.leader import Leader
    from rayfleet.sim.world import World

TICK = 0.5
BUSY = "The node to be idle terminated is no longer idle."
GARBAGE = b"\xff\xfe this is no message"


@dataclass
class Task:
    """It wants so many CPUs for so many seconds from when it begins."""

    cpus: float
    seconds: float
    ends: float = 0.0


@dataclass
class Node:
    """`pod` is the Pod's UID, `joined` the time. `let_go`: a drain was accepted."""

    id: bytes
    pod: str
    name: str
    group: str
    cpus: float
    joined: float
    idle_since: float
    tasks: list[Task] = field(default_factory=list)
    let_go: bool = False
    dead: bool = False

    @property
    def free(self) -> float:
        return 0.0 if self.dead or self.let_go else self.cpus - sum(task.cpus for task in self.tasks)

    @property
    def status(self) -> int:
        if self.dead:
            return int(DEAD)
        if self.let_go:
            return int(DRAINING)
        return int(RUNNING if self.tasks else IDLE)


@dataclass
class Life:
    """One head: its nodes by Pod UID."""

    head: str
    nodes: dict[str, Node] = field(default_factory=dict)


class SizedRays:
    """`mood(dice)` says how a call to a head fares: "" well, "lost" its answer, "refused" a connection, "garbage" what is answered."""

    def __init__(self, world: World, dice: Random) -> None:
        self.world = world
        self.dice = dice
        self.lives: dict[str, Life] = {}  # by the cluster's UID
        self.waiting: dict[str, list[Task]] = {}
        self.moods: dict[str, float] = {}
        self.version = 0
        self.refusals = 0
        world.clock.spawn(self.process())

    def line(self, leader: Leader) -> Line:
        return Line(self, leader)

    def submit(self, name: str, count: int, cpus: float = 1.0, seconds: float = 1e9) -> None:
        """Tasks of the cluster that has the name now."""
        cluster = self.world.cluster(name)
        if cluster:
            self.waiting.setdefault(cluster["metadata"]["uid"], []).extend(Task(cpus, seconds) for _ in range(count))

    def withdraw(self, name: str) -> None:
        """All that waits or runs is cancelled."""
        cluster = self.world.cluster(name)
        uid = cluster["metadata"]["uid"] if cluster else ""
        self.waiting.pop(uid, None)
        for node in self.nodes(uid):
            self.settle(node, [])

    def nodes(self, uid: str) -> list[Node]:
        life = self.lives.get(uid)
        return list(life.nodes.values()) if life else []

    def node_of(self, pod: str) -> Node | None:
        return next((node for life in self.lives.values() for node in life.nodes.values() if node.pod == pod and not node.dead), None)

    def process(self) -> Iterator[float]:
        while True:
            for cluster in self.world.store.all(RAYCLUSTERS):
                self.tick(cluster["metadata"]["uid"])
            yield TICK

    def tick(self, uid: str) -> None:
        pods = [pod for pod in self.world.store.owned(uid, PODS) if pod["status"]["phase"] not in TERMINAL]
        up = {pod["metadata"]["uid"]: pod for pod in pods if is_ready(pod)}
        head = next((pod for pod in up.values() if group_of(pod) == labels.HEAD_GROUP), None)
        life = self.lives.get(uid)
        if life is not None and (head is None or head["metadata"]["uid"] != life.head):
            for node in life.nodes.values():
                self.lose(uid, node)
            del self.lives[uid]
        if head is None:
            return
        life = self.lives.setdefault(uid, Life(head["metadata"]["uid"]))
        there = {pod["metadata"]["uid"] for pod in pods}
        for node in life.nodes.values():
            if node.pod not in there:
                self.lose(uid, node)
        for pod in up.values():
            if pod["metadata"]["uid"] not in life.nodes and not pod["metadata"].get("deletionTimestamp"):
                life.nodes[pod["metadata"]["uid"]] = self.joined(pod)
        self.work(uid, life)

    def joined(self, pod: Obj) -> Node:
        meta, group = pod["metadata"], group_of(pod)
        cpus = 0.0 if group == labels.HEAD_GROUP else float(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        return Node(self.dice.randbytes(28), meta["uid"], meta["name"], group, cpus, self.world.clock.now, self.world.clock.now)

    def lose(self, uid: str, node: Node) -> None:
        if not node.dead:
            node.dead = True
            self.waiting.setdefault(uid, []).extend(node.tasks)
            node.tasks = []

    def work(self, uid: str, life: Life) -> None:
        now = self.world.clock.now
        for node in life.nodes.values():
            self.settle(node, [task for task in node.tasks if task.ends > now])
            node.dead = node.dead or (node.let_go and not node.tasks)
        left = []
        for task in self.waiting.get(uid, []):
            node = next((each for each in life.nodes.values() if each.free >= task.cpus and task.cpus > 0), None)
            if node is None:
                left.append(task)
            else:
                task.ends = now + task.seconds
                self.settle(node, [*node.tasks, task])
        self.waiting[uid] = left

    def settle(self, node: Node, tasks: list[Task]) -> None:
        if node.tasks and not tasks:
            node.idle_since = self.world.clock.now
        node.tasks = tasks

    def state(self, uid: str) -> bytes:
        """GetClusterResourceState's reply."""
        self.version += 1
        reply = message("GetClusterResourceStateReply")
        state = reply.cluster_resource_state
        state.cluster_resource_state_version = self.version
        state.cluster_session_name = f"session_{self.lives[uid].head}"
        for node in self.nodes(uid):
            idle = int((self.world.clock.now - node.idle_since) * 1000) if node.status == IDLE else 0
            found = state.node_states.add(
                node_id=node.id, instance_id=node.name, ray_node_type_name=node.group, status=node.status, idle_duration_ms=idle
            )
            if node.cpus:
                found.total_resources["CPU"], found.available_resources["CPU"] = node.cpus, node.free
        shapes: dict[float, int] = {}
        for task in self.waiting.get(uid, []):
            shapes[task.cpus] = shapes.get(task.cpus, 0) + 1
        for cpus, count in shapes.items():
            state.pending_resource_requests.add(count=count).request.resources_bundle["CPU"] = cpus
        return bytes(reply.SerializeToString())

    def drain(self, uid: str, request: bytes) -> bytes:
        asked = parsed("DrainNodeRequest", request)
        node = next((each for each in self.nodes(uid) if each.id == asked.node_id), None)
        if node is not None and node.tasks and asked.reason == IDLE_TERMINATION:
            self.refusals += 1
            return bytes(message("DrainNodeReply", rejection_reason_message=BUSY).SerializeToString())
        if node is not None:
            node.let_go = True
        return bytes(message("DrainNodeReply", is_accepted=True).SerializeToString())


class Line:
    """One operator's calls to the heads, as `autoscaling.loop.Gcs` has them."""

    def __init__(self, rays: SizedRays, leader: Leader) -> None:
        self.rays = rays
        self.leader = leader

    async def state(self, head: Head) -> bytes:
        uid = await self.reach(head)
        return await self.answer(self.rays.state(uid))

    async def report(self, head: Head, request: bytes) -> None:
        await self.reach(head)
        await self.answer(b"")

    async def drain(self, head: Head, request: bytes) -> bytes:
        uid = await self.reach(head)
        return await self.answer(self.rays.drain(uid, request))

    async def leave(self, head: Head) -> None:
        """There is no channel to close."""

    async def reach(self, head: Head) -> str:
        """Whoever listens at the address now: the UID of its cluster. Raises OSError."""
        await self.pause()
        if self.strikes("refused"):
            raise ConnectionRefusedError("nobody listens there")
        for uid, life in self.rays.lives.items():
            if life.head == head.pod:
                return uid
        raise ConnectionRefusedError("nobody listens there")

    async def answer(self, content: bytes) -> bytes:
        await self.pause()
        if self.strikes("lost"):
            raise TimeoutError("the answer was lost")
        return GARBAGE if content and self.strikes("garbage") else content

    async def pause(self) -> None:
        await self.leader.clock.sleep(self.leader.world.pace.latency(self.leader.dice))
        if not self.leader.alive:
            raise OSError("this process has died")

    def strikes(self, mood: str) -> bool:
        struck = self.rays.dice.random() < self.rays.moods.get(mood, 0.0)
        if struck:
            self.rays.world.faults.counts[f"gcs {mood}"] += 1
        return struck


def group_of(pod: Obj) -> str:
    return str((pod["metadata"].get("labels") or {}).get(labels.GROUP, ""))
