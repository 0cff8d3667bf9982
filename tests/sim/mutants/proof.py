"""What a mutant is, and how the faults of most of them are put into a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rayfleet.planning.actions import Action
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.observed import Observed
from rayfleet.sim.leader import Planner
from rayfleet.sim.world import World
from tests.sim.mutants import every_kind

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], Planner]


@dataclass(frozen=True)
class Proof:
    """The invariant that is to break, and where: in a story, a scene, a rush of two operators, or in storms from the seed `first` on.


    `golden` is a story that is told otherwise than it is recorded, `raised` any other error.
    """

    invariant: str
    leaders: int = 1
    first: int = 0
    story: str = ""
    rush: bool = False
    scene: Callable[[World], None] | None = None


def changed(change: Callable[[Action], Action | None]) -> Planner:
    """The planner with each action changed, or left out (None)."""
    return every_kind.changing(core.plan, change)


def seeing(see: Callable[[Observed], Observed]) -> Planner:
    """The planner with its view changed."""
    return lambda observed: core.plan(see(observed))
