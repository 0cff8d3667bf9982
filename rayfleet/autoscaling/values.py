"""What the planner is given and what it gives back. Frozen values: hashable, comparable, without a clock.

All amounts are `amounts.Resources` (whole ten-thousandths of a unit; bytes for memory), all times seconds since 1970, all durations in
seconds. A *replica* is what `replicas` counts: one Pod, `hosts` Pods in a multi-host group. A *node* is Ray's word for what runs in a Pod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from rayfleet.autoscaling.amounts import Resources

HEAD = "headgroup"  # the group's name that Ray's own configuration gives to every head
DEFAULT_IDLE_TIMEOUT = 60.0  # Ray's, for KubeRay clusters that name none (reference: Ray, B.1)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector. Of a label `key` the value is one of `values`, or none of them (a node without the label fulfils that).

    Ray's `{"zone": "a"}` is one value, `in(a,b)` two, `!a` and `!in(a,b)` are `excluded`; no values and not excluded: no node fulfils it
    (so an operator that is unknown, as Ray judges it). Ray 2.52 and later.
    """

    key: str
    values: tuple[str, ...] = ()
    excluded: bool = False


Selector = tuple[Requirement, ...]  # all of them must hold


@dataclass(frozen=True, slots=True)
class Request:
    """`count` tasks, actors or bundles that each want `resources` on one node.

    `selectors`: alternatives, the best first; none: any node will do.
    """

    resources: Resources
    count: int = 1
    selectors: tuple[Selector, ...] = ()


class Strategy(StrEnum):
    """Of a placement group. Ray's autoscaler takes PACK and SPREAD for wishes: only the strict ones bind."""

    PACK = "PACK"
    SPREAD = "SPREAD"
    STRICT_PACK = "STRICT_PACK"
    STRICT_SPREAD = "STRICT_SPREAD"


@dataclass(frozen=True, slots=True)
class Gang:
    """A placement group that waits: all of its bundles find room, or none is placed.

    `id`: for STRICT_SPREAD the name of the anti-affinity label (`_PG_<hex>`); nodes that hold a bundle of it have it among their `gangs`.
    `details` is Ray's own text (`<hex>:STRICT_SPREAD|PENDING`), shown to people.
    """

    id: str
    strategy: Strategy
    bundles: tuple[Request, ...]
    details: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """What Ray asks for, from GetClusterResourceState. `floor`: what `request_resources` wants the cluster to be able to hold at once,
    counted against the nodes' totals whatever runs on them."""

    requests: tuple[Request, ...] = ()
    gangs: tuple[Gang, ...] = ()
    floor: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A worker group as the RayCluster has it now.

    `resources` and `labels` are those of one host's Ray node. `replicas` is the spec's. `idle_timeout` None: the cluster's.
    `workers_to_delete`: Pod names that the spec already lists. A `suspended` group has no Pods and gets none.
    """

    name: str
    min_replicas: int = 0
    max_replicas: int = 2**31 - 1
    replicas: int = 0
    hosts: int = 1
    resources: Resources = ()
    labels: tuple[tuple[str, str], ...] = ()
    priority: int = 0
    idle_timeout: float | None = None
    workers_to_delete: tuple[str, ...] = ()
    suspended: bool = False


class State(StrEnum):
    """PENDING: a Pod whose Ray container has not begun. LAUNCHING: it has, and Ray does not list the node yet. The others are Ray's."""

    PENDING = "pending"
    LAUNCHING = "launching"
    RUNNING = "running"
    IDLE = "idle"
    DRAINING = "draining"
    DEAD = "dead"


PREFERENCE = (State.RUNNING, State.DRAINING, State.IDLE, State.DEAD)
"""Which of two nodes counts that are listed for one Pod, or under one id: the one with more to lose."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A Pod of the cluster and the Ray node in it (joined by the node's `instance_id`, which is the Pod's name; a DEAD node only where the
    Pod has no other). Nodes without a Pod are not ours to plan with and are left out.

    `group` is HEAD for the head. `replica`: the label that the hosts of one replica share; "": a replica of its own.
    `node` is the hex id, "" before the node is listed. `idle_since` counts only with IDLE. `gangs`: names of the node's `_PG_` labels.
    `terminating`: the Pod has a deletionTimestamp.
    """

    pod: str
    group: str
    state: State = State.PENDING
    node: str = ""
    replica: str = ""
    total: Resources = ()
    available: Resources = ()
    labels: tuple[tuple[str, str], ...] = ()
    gangs: frozenset[str] = frozenset()
    idle_since: float | None = None
    created_at: float = 0.0
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """`upscaling_speed`: of one group at most max(1, speed x running) replicas are on their way at a time; None: no such limit.

    `upscalingMode` Conservative is a speed of 1, Default and Aggressive are None (KubeRay's meaning; reference: Ray, B.1).
    `ceiling`: the most worker Pods of the cluster (`max_workers` of the old formats); None: what the groups' maxima come to.
    """

    upscaling_speed: float | None = None
    idle_timeout: float = DEFAULT_IDLE_TIMEOUT
    ceiling: int | None = None


class Cause(StrEnum):
    """Why a node is drained, as DrainNode takes it. IDLE: Ray refuses if the node has work. PREEMPTION: Ray never refuses; the node takes
    no new work, and ends when it has none."""

    IDLE = "IDLE_TERMINATION"
    PREEMPTION = "PREEMPTION"


@dataclass(frozen=True, slots=True)
class Drain:
    """A node that Ray was asked to drain. `accepted` None: no answer yet, or none that reached us."""

    node: str
    pod: str
    group: str
    cause: Cause
    why: str
    asked_at: float
    accepted: bool | None = None
    answered_at: float = 0.0
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """Replicas of a group that are wanted and have not joined, and since when there have been any."""

    group: str
    replicas: int
    since: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What one decision hands to the next. Losing it costs time, never work: everything that binds is in the RayCluster or in Ray.

    `pending`: since when each shape (count 1) or placement group has waited. `unneeded`: for each group since when at least one, two, ...
    of the replicas that have not joined are needed by nothing. `dead`: since when a Pod's node has been seen dead.
    """

    launches: tuple[Launch, ...] = ()
    drains: tuple[Drain, ...] = ()
    pending: frozenset[tuple[Request | Gang, float]] = frozenset()
    unneeded: tuple[tuple[str, tuple[float, ...]], ...] = ()
    dead: tuple[tuple[str, float], ...] = ()


def answered(memory: Memory, node: str, accepted: bool, answer: str, now: float) -> Memory:
    """What Ray said to a drain. A call that failed is no answer: the planner asks again by itself."""
    drains = (replace(each, accepted=accepted, answer=answer, answered_at=now) if each.node == node else each for each in memory.drains)
    return replace(memory, drains=tuple(drains))


@dataclass(frozen=True, slots=True)
class Target:
    """What the group's entry in the spec shall say: `replicas`, and the whole of `workersToDelete`. `was`: the replicas it had.

    `delete` names the Pods that are to go now and those of earlier decisions that are still there; what is gone is dropped.
    """

    group: str
    replicas: int
    was: int
    delete: tuple[str, ...] = ()
    deleted_before: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return self.replicas != self.was or self.delete != self.deleted_before


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Demand that no allowed size of the cluster can hold. One of the three is set. `remedy`: what would satisfy it, as a sentence.

    `waits`: nodes of these groups could hold it, and there may be no more of them: it runs when others have ended. To tell Ray that such
    demand is infeasible could make it fail tasks that only have to wait (`RAY_enable_infeasible_task_early_exit`).
    """

    remedy: str
    request: Request | None = None
    gang: Gang | None = None
    floor: tuple[Request, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """`reason` is an Event's, in CamelCase; `text` says why, with the numbers."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """`targets`: one for each group of the spec, by name; write those that `changes`, replicas and names of one group in one patch.

    `drains`: nodes to ask Ray about now (they are in `memory` too; tell the answers with `answered`). `again_at`: when the same
    observations could mean something else, None: never.
    """

    targets: tuple[Target, ...] = ()
    drains: tuple[Drain, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    memory: Memory = Memory()
    again_at: float | None = None
