"""Ray as far as the size of a cluster matters: nodes that join with their Pods, tasks and placement groups that wait, run and end, and
drains, on virtual time. `sized_line` is how it is called.

A life is that of one head Pod, or of several where the head's memory outlives it. What ran on a node that is lost waits again; what was
asked of a head that is gone is asked of the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.ray.gcs_messages import DEAD, DRAINING, IDLE, IDLE_TERMINATION, RUNNING, message, parsed
from rayfleet.sim.kubelet import is_ready
from rayfleet.sim.sized_line import Line
from rayfleet.sim.store import TERMINAL, Change, Obj

if TYPE_CHECKING:
    from rayfleet.sim.leader import Leader
    from rayfleet.sim.world import World

TICK, TICK_AT_REST = 0.5, 5.0  # seconds
CALM = 60.0  # seconds without a change, after which there is rest
BUSY = "The node to be idle terminated is no longer idle."
SPREAD, PACK = "STRICT_SPREAD", "STRICT_PACK"


@dataclass(frozen=True)
class Gang:
    """A placement group: its bundles begin together, each on a node of its own or all on one where its strategy says so."""

    id: str
    strategy: str = "PACK"

    @property
    def label(self) -> str:
        return f"_PG_{self.id}"


@dataclass
class Task:
    """It wants so many CPUs for so many seconds from when it begins."""

    cpus: float
    seconds: float
    gang: Gang | None = None
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
    def gangs(self) -> set[Gang]:
        return {task.gang for task in self.tasks if task.gang}

    @property
    def status(self) -> int:
        if self.dead:
            return int(DEAD)
        if self.let_go:
            return int(DRAINING)
        return int(RUNNING if self.tasks else IDLE)


@dataclass
class Life:
    """One head: its nodes by Pod UID. `head` is the UID of its Pod."""

    head: str
    session: str
    nodes: dict[str, Node] = field(default_factory=dict)


class SizedRays:
    """`moods`: how often a call fares so (see `sized_line`); `ills`: what is wrong with a head, and until when, by its cluster's UID.
    `tolerant`: clusters whose next head goes on where the one before ended."""

    def __init__(self, world: World, dice: Random) -> None:
        self.world = world
        self.dice = dice
        self.lives: dict[str, Life] = {}  # by the cluster's UID
        self.waiting: dict[str, list[Task]] = {}
        self.moods: dict[str, float] = {}
        self.ills: dict[str, tuple[str, float]] = {}
        self.tolerant: set[str] = set()
        self.version = 0
        self.begun = 0
        self.refusals = 0
        self.changed = world.clock.now
        world.store.watchers.append(self.hear)
        world.clock.spawn(self.process())

    def line(self, leader: Leader) -> Line:
        return Line(self, leader)

    def submit(self, name: str, count: int, cpus: float = 1.0, seconds: float = 1e9) -> None:
        """Tasks of the cluster that has the name now."""
        cluster = self.world.cluster(name)
        if cluster:
            self.waiting.setdefault(cluster["metadata"]["uid"], []).extend(Task(cpus, seconds) for _ in range(count))

    def submit_gang(self, name: str, bundles: int, strategy: str, cpus: float = 1.0, seconds: float = 1e9) -> None:
        """A placement group, as `submit`."""
        cluster, gang = self.world.cluster(name), Gang(f"{self.dice.getrandbits(64):016x}", strategy)
        if cluster:
            waiting = self.waiting.setdefault(cluster["metadata"]["uid"], [])
            waiting += [Task(cpus, seconds, gang) for _ in range(bundles)]

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
            yield TICK if self.world.clock.now < self.changed + CALM else TICK_AT_REST

    def hear(self, change: Change) -> None:
        self.changed = self.world.clock.now

    def tick(self, uid: str) -> None:
        pods = [pod for pod in self.world.store.owned(uid, PODS) if pod["status"]["phase"] not in TERMINAL]
        up = {pod["metadata"]["uid"]: pod for pod in pods if is_ready(pod)}
        head = next((pod for pod in up.values() if group_of(pod) == labels.HEAD_GROUP), None)
        life = self.lives.get(uid)
        if life is not None and (head is None or head["metadata"]["uid"] != life.head) and uid not in self.tolerant:
            self.forget(uid)
        if head is None:
            return
        life = self.lives.get(uid) or self.begin(uid)
        if life.head and life.head != head["metadata"]["uid"]:
            self.tolerant.discard(uid)
            self.world.faults.counts["a head went on"] += 1
        life.head = head["metadata"]["uid"]
        there = {pod["metadata"]["uid"] for pod in pods}
        for node in life.nodes.values():
            if node.pod not in there:
                self.lose(uid, node)
        for pod in up.values():
            if pod["metadata"]["uid"] not in life.nodes and not pod["metadata"].get("deletionTimestamp"):
                life.nodes[pod["metadata"]["uid"]] = self.joined(pod)
        self.work(uid, life)

    def begin(self, uid: str) -> Life:
        self.begun += 1
        return self.lives.setdefault(uid, Life("", f"session_{self.begun}"))

    def forget(self, uid: str) -> None:
        """The control store begins anew: every node is another one, and what ran waits again."""
        for node in self.nodes(uid):
            self.lose(uid, node)
        self.lives.pop(uid, None)

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
        waiting = self.waiting.get(uid, [])
        gangs = list(dict.fromkeys(task.gang for task in waiting if task.gang))
        together = [[task for task in waiting if task.gang == gang] for gang in gangs]
        for tasks in (*together, *([task] for task in waiting if task.gang is None)):
            for node, task in self.places(life, tasks):
                task.ends = now + task.seconds
                self.settle(node, [*node.tasks, task])
                waiting = [each for each in waiting if each is not task]
        self.waiting[uid] = waiting

    def places(self, life: Life, tasks: list[Task]) -> list[tuple[Node, Task]]:
        """A node for each of them, or none for any."""
        gang, nodes = tasks[0].gang, list(life.nodes.values())
        if gang and gang.strategy == PACK:
            whole = sum(task.cpus for task in tasks)
            roomy = next((node for node in nodes if node.free >= whole), None)
            return [(roomy, task) for task in tasks] if roomy else []
        spread = bool(gang) and gang.strategy == SPREAD
        free = {node.pod: node.free for node in nodes if not (spread and gang in node.gangs)}
        found: list[tuple[Node, Task]] = []
        for task in tasks:
            pod = next((pod for pod in free if free[pod] >= task.cpus > 0), None)
            if pod is None:
                return []
            found.append((life.nodes[pod], task))
            free[pod] = 0.0 if spread else free[pod] - task.cpus
        return found

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
        state.cluster_session_name = self.lives[uid].session
        for node in self.nodes(uid):
            idle = int((self.world.clock.now - node.idle_since) * 1000) if node.status == IDLE else 0
            found = state.node_states.add(
                node_id=node.id, instance_id=node.name, ray_node_type_name=node.group, status=node.status, idle_duration_ms=idle
            )
            for gang in node.gangs:
                found.dynamic_labels[gang.label] = ""
            if node.cpus:
                found.total_resources["CPU"], found.available_resources["CPU"] = node.cpus, node.free
        waiting = self.waiting.get(uid, [])
        for cpus, count in Counter(task.cpus for task in waiting if task.gang is None).items():
            state.pending_resource_requests.add(count=count).request.resources_bundle["CPU"] = cpus
        for gang in dict.fromkeys(task.gang for task in waiting if task.gang):
            self.tell_gang(state, gang, [task for task in waiting if task.gang == gang])
        return bytes(reply.SerializeToString())

    def tell_gang(self, state: Any, gang: Gang, tasks: list[Task]) -> None:
        """As Ray lists one that waits: only strict strategies put constraints on the bundles."""
        told = state.pending_gang_resource_requests.add(details=f"{gang.id}:{gang.strategy}|PENDING")
        for task in tasks:
            bundle = told.requests.add(resources_bundle={"CPU": task.cpus})
            if gang.strategy == SPREAD:
                bundle.placement_constraints.add().anti_affinity.label_name = gang.label
            elif gang.strategy == PACK:
                bundle.placement_constraints.add().affinity.label_name = gang.label

    def drain(self, uid: str, request: bytes) -> bytes:
        asked = parsed("DrainNodeRequest", request)
        node = next((each for each in self.nodes(uid) if each.id == asked.node_id), None)
        if node is not None and node.tasks and asked.reason == IDLE_TERMINATION:
            self.refusals += 1
            return bytes(message("DrainNodeReply", rejection_reason_message=BUSY).SerializeToString())
        if node is not None:
            node.let_go = True
        return bytes(message("DrainNodeReply", is_accepted=True).SerializeToString())


def group_of(pod: Obj) -> str:
    return str((pod["metadata"].get("labels") or {}).get(labels.GROUP, ""))
