"""Nodes on their way out: what Ray was asked and said, and what became of the node.

A node with work ends by Ray's leave only: an idle node after an accepted drain, any other when Ray itself lists it as dead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rayfleet.autoscaling.values import Cause, Drain, Instance, Memory, State

UNANSWERED = 10.0  # seconds without an answer, after which a drain counts as not asked
SETTLES = 15.0  # from an accepted drain to the node's being listed as draining or dead
STUCK = 30.0  # after which an idle node that drains is ended though Ray still lists it: it holds no work
REFUSED = 60.0  # before a node that refused, and still seems idle, is asked again
DEAD_FOR = 30.0  # before a Pod is deleted whose node died and that nobody drained: it may come back under another id


@dataclass(slots=True)
class Departures:
    """`drains` by Pod, as far as they still hold. `dead` by Pod: since when its node is dead. `deadlines`: when one of them means more."""

    now: float
    drains: dict[str, Drain] = field(default_factory=dict)
    dead: dict[str, float] = field(default_factory=dict)
    deadlines: list[float] = field(default_factory=list)

    def leaves(self, each: Instance) -> bool:
        """Does the node take no new work?"""
        drain = self.drains.get(each.pod)
        return each.state in (State.DRAINING, State.DEAD) or (drain is not None and drain.accepted is not False)

    def over(self, each: Instance) -> bool:
        """Is no work left on the node for certain?"""
        drain = self.drains.get(each.pod)
        if drain is not None and drain.accepted:
            if each.state == State.DRAINING:
                return drain.cause == Cause.IDLE and self.passed(drain.answered_at + STUCK)
            return each.state not in (State.RUNNING, State.IDLE)
        return each.state == State.DEAD and self.passed(self.dead[each.pod] + DEAD_FOR)

    def passed(self, deadline: float) -> bool:
        if self.now < deadline:
            self.deadlines.append(deadline)
        return self.now >= deadline

    def may_ask(self, each: Instance) -> bool:
        return bool(each.node) and each.state in (State.RUNNING, State.IDLE) and each.pod not in self.drains


def departures(memory: Memory, instances: Iterable[Instance], now: float) -> Departures:
    found = Departures(now)
    by_pod = {each.pod: each for each in instances}
    dead = dict(memory.dead)
    for pod, each in by_pod.items():
        if each.state == State.DEAD:
            found.dead[pod] = min(dead.get(pod, now), now)
    for drain in sorted(memory.drains, key=lambda each: (each.pod, each.asked_at)):
        instance = by_pod.get(drain.pod)
        if instance is not None and (kept := judged(by_now(drain, now), instance, found)):
            found.drains[drain.pod] = kept
    return found


def by_now(drain: Drain, now: float) -> Drain:
    """What a clock that was wrong dated ahead happened now: nobody waits for as long as that was."""
    return replace(drain, asked_at=min(drain.asked_at, now), answered_at=min(drain.answered_at, now))


def judged(drain: Drain, each: Instance, found: Departures) -> Drain | None:
    """The drain as it is to be seen now; None when it holds no more."""
    if each.node and each.node != drain.node:
        return None
    if drain.accepted is None:
        if each.state in (State.DRAINING, State.DEAD):
            return replace(drain, accepted=True, answered_at=found.now, answer="seen in the nodes' states")
        return None if found.passed(drain.asked_at + UNANSWERED) else drain
    if drain.accepted:
        works = each.state in (State.RUNNING, State.IDLE)
        return None if works and found.passed(drain.answered_at + SETTLES) else drain
    begun_anew = each.idle_since is not None and each.idle_since > drain.answered_at
    return None if begun_anew or found.passed(drain.answered_at + REFUSED) else drain
