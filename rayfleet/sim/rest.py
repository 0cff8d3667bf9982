"""The end of a storm: all comes to rest as it should be, and then there is silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.sim.world import World

LOOK = 10.0  # virtual seconds between two looks


class Rules(Protocol):
    def fail(self, invariant: str, why: str) -> None:
        """Raises Violation."""


def come_to_rest(
    world: World, rules: Rules, unmet: Callable[[], list[str]], said: Callable[[], int], patience: float, silence: float
) -> None:
    """`unmet` is what is not as it should be, `said` how much was written or sent so far; `patience` and `silence` are virtual seconds.

    Two operators at once bring all to its desired state as well, but silence is asked of one alone: what one was refused the other need not
    know, so their words on it may differ until the back-off of the one is over (300 s at most; a lease never overlaps that long).
    """
    until = world.clock.now + patience
    while (left := unmet()) and world.clock.now < until:
        world.run(LOOK)
    if left:
        rules.fail("L1", f"not at rest {patience:.0f} s after the last fault: {'; '.join(left)}")
    for leader in world.leaders[1:]:
        world.retire(leader)
    world.run(LONGEST_RETRY + 30.0)
    stay_silent(world, rules, said, silence, "at rest")
    if left := unmet():
        rules.fail("L1", f"it did not stay so: {'; '.join(left)}")


def stay_silent(world: World, rules: Rules, said: Callable[[], int], silence: float, when: str) -> None:
    before = said()
    world.run(silence)
    if said() != before:
        rules.fail("W1", f"{said() - before} writes {when}")
