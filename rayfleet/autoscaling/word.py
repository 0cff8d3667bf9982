"""What a head's GCS said of its nodes and of what waits for room, read without trust.

Every reply has new version numbers and new idle times. Two that differ in nothing else are the same word, which is told by a hash over the
rest before anything is decoded: at rest a poll costs no more than that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from rayfleet.autoscaling.amounts import Resources, resources
from rayfleet.autoscaling.values import PREFERENCE, Demand, Gang, Request, Requirement, Selector, State, Strategy
from rayfleet.ray.gcs_messages import DEAD, DRAINING, IDLE, parsed

T = TypeVar("T")
JITTER = 2.0  # seconds by which a node's idle time may seem to move when it has not worked meanwhile
MOST_OF_A_SHAPE, MOST_SHAPES, MOST_GANGS = 1_000_000, 10_000, 1_000  # what is beyond waits until something before it is gone
LONGEST_IDLE = 10.0 * 365 * 86400
STATES = {DEAD: State.DEAD, DRAINING: State.DRAINING, IDLE: State.IDLE}
IN, NOT_IN = 1, 2  # LabelSelectorOperator
GANG = "_PG_"
STRATEGIES = {each.value: each for each in Strategy}


@dataclass(frozen=True, slots=True)
class Node:
    """`pod` is what the node was told to be called: the name of its Pod. `idle` is in seconds."""

    node: str
    pod: str
    state: State
    idle: float = 0.0
    total: Resources = ()
    available: Resources = ()
    labels: tuple[tuple[str, str], ...] = ()
    gangs: frozenset[str] = frozenset()


class Word:
    """One reply. `at`: when it was heard, in seconds since 1970. Equal ones say the same. Raises ValueError when the bytes are no reply."""

    def __init__(self, content: bytes, at: float) -> None:
        state = parsed("GetClusterResourceStateReply", content).cluster_resource_state
        self.at = at
        self.version: int = state.cluster_resource_state_version
        self.last_report: int = state.last_seen_autoscaler_state_version
        self.session: str = state.cluster_session_name[:256]
        self.idle: tuple[float, ...] = tuple(at - seconds(node) for node in state.node_states if node.status == IDLE)
        state.ClearField("cluster_resource_state_version")
        state.ClearField("last_seen_autoscaler_state_version")
        self._seconds = tuple(seconds(node) for node in state.node_states)
        for node in state.node_states:
            node.ClearField("node_state_version")
            node.ClearField("idle_duration_ms")
        self.digest = hashlib.blake2b(state.SerializeToString(deterministic=True), digest_size=16).digest()
        self._state = state
        self._nodes: dict[int, Node] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Word):
            return NotImplemented
        return self.digest == other.digest and all(abs(a - b) < JITTER for a, b in zip(self.idle, other.idle, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def lists(self, pod: str) -> bool:
        """Is there a node in the Pod of that name?"""
        return any(told.instance_id == pod and told.node_id for told in self._state.node_states)

    def nodes(self, pods: Container[str]) -> tuple[Node, ...]:
        """Those in Pods of these names, sorted by id, each id once: of two the one with more to lose. Others are not read: Ray lists
        dead nodes for a long time."""
        ids = {told.node_id for told in self._state.node_states if told.instance_id in pods} - {b""}
        found: dict[str, Node] = {}
        for index, told in enumerate(self._state.node_states):
            if told.node_id not in ids:
                continue
            node = self._nodes[index] = self._nodes.get(index) or read_node(told, self._seconds[index])
            known = found.get(node.node)
            if known is None or PREFERENCE.index(node.state) < PREFERENCE.index(known.state):
                found[node.node] = node
        return tuple(found[node] for node in sorted(found))

    @cached_property
    def demand(self) -> Demand:
        return demand(self._state)

    @property
    def weight(self) -> int:
        """How many shapes, bundles and nodes there are to be weighed. They are not read for it."""
        asked = sum(len(each.resource_requests) for each in self._state.cluster_resource_constraints)
        gangs = sum(len(bundles(each)) for each in self._state.pending_gang_resource_requests)
        return asked + gangs + len(self._state.pending_resource_requests) + len(self._state.node_states)

    def told(self) -> bytes:
        """The answer as another process is told of it (`demand_in`)."""
        return bytes(self._state.SerializeToString())

    @cached_property
    def waiting(self) -> int:
        """How many tasks, actors and bundles wait for room."""
        shapes = islice(self._state.pending_resource_requests, MOST_SHAPES)
        gangs = islice(self._state.pending_gang_resource_requests, MOST_GANGS)
        return sum(len(bundles(each)) for each in gangs) + int(sum(min(max(each.count, 0), MOST_OF_A_SHAPE) for each in shapes))

    @property
    def waits(self) -> bool:
        """Does anything wait for room?"""
        return bool(self._state.pending_resource_requests or self._state.pending_gang_resource_requests)


def demand_in(told: bytes) -> Demand:
    return demand(parsed("ClusterResourceState", told))


def demand(state: Any) -> Demand:
    return Demand(
        requests=most(counted(state.pending_resource_requests)),
        gangs=tuple(gang(each) for each in islice(state.pending_gang_resource_requests, MOST_GANGS)),
        floor=most(request for each in state.cluster_resource_constraints for request in counted(each.resource_requests)),
    )


def seconds(node: Any) -> float:
    """How long it has been idle."""
    return float(min(max(node.idle_duration_ms, 0) / 1000, LONGEST_IDLE))


def read_node(node: Any, idle: float) -> Node:
    """A status that nobody knows is one of a node that works: it is then left alone."""
    dynamic = {**node.dynamic_labels}
    return Node(
        node=node.node_id.hex(),
        pod=node.instance_id,
        state=STATES.get(node.status, State.RUNNING),
        idle=idle,
        total=resources(node.total_resources),
        available=resources(node.available_resources),
        labels=tuple(sorted({**node.labels, **dynamic}.items())),
        gangs=frozenset(name for name in dynamic if name.startswith(GANG)),
    )


def most(several: Iterable[T]) -> tuple[T, ...]:
    return tuple(islice(several, MOST_SHAPES))


def counted(several: Any) -> Iterator[Request]:
    for each in several:
        if each.count > 0:
            yield request(each.request, min(each.count, MOST_OF_A_SHAPE))


def request(message: Any, count: int = 1) -> Request:
    return Request(resources(message.resources_bundle), count, tuple(selector(each) for each in message.label_selectors))


def selector(message: Any) -> Selector:
    """An operator that is unknown is fulfilled by no node."""
    return tuple(
        Requirement(each.label_key, tuple(each.label_values) if each.operator in (IN, NOT_IN) else (), each.operator == NOT_IN)
        for each in message.label_constraints
    )


def gang(message: Any) -> Gang:
    found = bundles(message)
    named = message.details.partition(":")[2].partition("|")[0]
    return Gang(
        id=next((each.anti_affinity.label_name for bundle in found for each in bundle.placement_constraints), ""),
        strategy=STRATEGIES.get(named) or placed(found),
        bundles=tuple(request(bundle) for bundle in found),
        details=message.details[:256],
    )


def bundles(message: Any) -> Any:
    """Newer Rays send alternatives, of which their own autoscaler takes the first as well."""
    return message.bundle_selectors[0].resource_requests if message.bundle_selectors else message.requests


def placed(bundles: Any) -> Strategy:
    """The strategy that the constraints of bundles amount to, where no text names it."""
    constraints = [each for bundle in bundles for each in bundle.placement_constraints]
    if any(each.HasField("anti_affinity") for each in constraints):
        return Strategy.STRICT_SPREAD
    return Strategy.STRICT_PACK if any(each.HasField("affinity") for each in constraints) else Strategy.PACK
