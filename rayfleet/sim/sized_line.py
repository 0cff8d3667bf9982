"""How an operator's calls to the heads fare, and what a GCS says in place of the truth. Each time is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from rayfleet.permit import insist
from rayfleet.ray.gcs import DEADLINE, Head, Refused, Unanswered
from rayfleet.ray.gcs_messages import DEAD, IDLE, parsed

if TYPE_CHECKING:
    from rayfleet.sim.leader import Leader
    from rayfleet.sim.sized_ray import SizedRays

REFUSALS = {
    "wrong token": ("UNAUTHENTICATED", "InvalidAuthToken: Authentication token is missing or incorrect"),
    "wrong cluster id": ("UNAUTHENTICATED", "WrongClusterID: Perhaps the client is accessing GCS after it has restarted."),
    "without the service": ("UNIMPLEMENTED", ""),
    "too long": ("RESOURCE_EXHAUSTED", "Received message larger than max (10485760 vs. 8388608)"),
}
ILLS = (*REFUSALS, "slow", "half open", "somebody else")
"""What may be wrong with a head for a while."""
CALLS = ("refused", "lost", "garbage")
"""What may become of one call: no connection, no answer, an answer that is no message."""
GARBAGE = b"\xff\xfe this is no message"

Lie = Callable[[Any, Random, "SizedRays"], None]


def negative(state: Any, dice: Random, rays: SizedRays) -> None:
    for node in state.node_states:
        node.available_resources["CPU"] = -node.available_resources["CPU"] - 1.0
        node.idle_duration_ms = -1000
    for each in state.pending_resource_requests:
        state.pending_resource_requests.add(count=-each.count).request.CopyFrom(each.request)
        break


def no_number(state: Any, dice: Random, rays: SizedRays) -> None:
    for node in state.node_states:
        node.total_resources["memory"], node.available_resources["CPU"] = math.inf, math.nan
    state.pending_resource_requests.add(count=2).request.resources_bundle["CPU"] = math.nan


def unknown_words(state: Any, dice: Random, rays: SizedRays) -> None:
    for node in state.node_states:
        node.status = dice.choice((node.status, 77))
    chosen = state.pending_resource_requests.add(count=1).request
    chosen.resources_bundle["CPU"] = 1.0
    chosen.label_selectors.add().label_constraints.add(label_key="zone", operator=9, label_values=["x"])


def twice(state: Any, dice: Random, rays: SizedRays) -> None:
    """Each node is listed under its id as another one that is idle or dead, before or after itself."""
    true = list(state.node_states)
    false = []
    for node in true:
        other = type(node)()
        other.CopyFrom(node)
        other.status, other.idle_duration_ms = dice.choice((IDLE, DEAD)), 10**9
        false.append(other)
    mixed = [*false, *true] if dice.random() < 0.5 else [*true, *false]
    copies = [type(node).FromString(node.SerializeToString()) for node in mixed]
    del state.node_states[:]
    state.node_states.extend(copies)


def strangers(state: Any, dice: Random, rays: SizedRays) -> None:
    """Nodes of every other cluster."""
    own = {node.node_id for node in state.node_states}
    for uid in rays.lives:
        for node in rays.nodes(uid):
            if node.id not in own:
                state.node_states.add(
                    node_id=node.id, instance_id=node.name, ray_node_type_name=node.group, status=IDLE, idle_duration_ms=10**9
                )


def the_dead(state: Any, dice: Random, rays: SizedRays) -> None:
    """For each node one that died in its Pod."""
    for node in list(state.node_states):
        state.node_states.add(
            node_id=dice.randbytes(28), instance_id=node.instance_id, ray_node_type_name=node.ray_node_type_name, status=DEAD
        )


def shapes_without_end(state: Any, dice: Random, rays: SizedRays) -> None:
    for number in range(40):
        state.pending_resource_requests.add(count=2**60).request.resources_bundle[f"kind-{number}"] = 1.0


LIES: Mapping[str, Lie] = {
    lie.__name__.replace("_", " "): lie for lie in (negative, no_number, unknown_words, twice, strangers, the_dead, shapes_without_end)
}


class Line:
    """One operator's calls to the heads, as `autoscaling.loop.Gcs` has them."""

    def __init__(self, rays: SizedRays, leader: Leader) -> None:
        self.rays = rays
        self.leader = leader

    async def state(self, head: Head) -> bytes:
        uid = await self.reach(head)
        return self.told(await self.answer(self.rays.state(uid)))

    async def report(self, head: Head, request: bytes) -> None:
        await self.reach(head)
        await self.answer(b"")

    async def drain(self, head: Head, request: bytes) -> bytes:
        uid = await self.reach(head)
        insist()
        return await self.answer(self.rays.drain(uid, request))

    async def leave(self, head: Head) -> None:
        """There is no channel to close."""

    async def reach(self, head: Head) -> str:
        """Whoever listens at the address now: the UID of its cluster. Raises OSError, and Refused."""
        await self.pause()
        if self.strikes("refused"):
            raise ConnectionRefusedError("nobody listens there")
        uid = next((uid for uid, life in self.rays.lives.items() if life.head == head.pod), "")
        if not uid:
            raise ConnectionRefusedError("nobody listens there")
        found = await self.suffer(uid)
        if found not in self.rays.lives:
            raise ConnectionResetError("the head has gone meanwhile")
        return found

    async def suffer(self, uid: str) -> str:
        """What is wrong with the head at present. Gives who answers."""
        ill, until = self.rays.ills.get(uid, ("", 0.0))
        if not ill or self.rays.world.clock.now >= until:
            return uid
        self.count(ill)
        if ill in REFUSALS:
            raise Refused(*REFUSALS[ill])
        if ill == "somebody else":
            return next((other for other in self.rays.lives if other != uid), uid)
        await self.leader.clock.sleep(DEADLINE if ill == "half open" else self.rays.dice.uniform(1.0, DEADLINE))
        if ill == "half open":
            raise Unanswered("Deadline Exceeded")
        return uid

    async def answer(self, content: bytes) -> bytes:
        await self.pause()
        if self.strikes("lost"):
            raise TimeoutError("the answer was lost")
        return GARBAGE if content and self.strikes("garbage") else content

    def told(self, content: bytes) -> bytes:
        """The truth, or something else."""
        for name, lie in LIES.items():
            if content != GARBAGE and self.strikes(name):
                reply = parsed("GetClusterResourceStateReply", content)
                lie(reply.cluster_resource_state, self.rays.dice, self.rays)
                return bytes(reply.SerializeToString())
        return content

    async def pause(self) -> None:
        await self.leader.clock.sleep(self.leader.world.pace.latency(self.leader.dice))
        if not self.leader.alive:
            raise OSError("this process has died")

    def strikes(self, mood: str) -> bool:
        struck = self.rays.dice.random() < self.rays.moods.get(mood, 0.0)
        if struck:
            self.count(mood)
        return struck

    def count(self, what: str) -> None:
        self.rays.world.faults.counts[f"gcs {what}"] += 1
