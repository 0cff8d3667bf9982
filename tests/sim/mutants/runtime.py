"""How the world is seen, and what is remembered of it."""

from __future__ import annotations

from functools import partial
from typing import Any

from rayfleet.planning.backoff import Backoff
from rayfleet.raycluster import plan as core
from rayfleet.runtime import apply
from rayfleet.runtime.apply import Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.cache import Cache
from rayfleet.runtime.controller import Controller
from rayfleet.runtime.reader import Reader
from rayfleet.runtime.visibility import Visibility
from rayfleet.sim.leader import Planner
from tests.sim import test_clock_steps as steps
from tests.sim import test_watches as watches
from tests.sim.mutants.proof import Mutant, Patch, Proof


def own_writes_not_awaited(patch: Patch) -> Planner:
    """The next decision is taken on a cache that lacks the last one (KubeRay #1746)."""
    patch.setattr(Visibility, "blocks", lambda self, key: False)
    return core.plan


def lost_answers_forgotten(patch: Patch) -> Planner:
    """Nobody asks what became of a write whose answer was lost."""
    patch.setattr(apply, "in_doubt", lambda error: False)
    return core.plan


def taken_names_told(patch: Patch) -> Planner:
    """A name that an own create took whose answer was lost is a failure."""

    async def taken(self: Applier, action: Any, error: Any, outcome: Any) -> None:
        self._fail(action, error, outcome)

    patch.setattr(Applier, "_taken", taken)
    return core.plan


def lists_not_compared(patch: Patch) -> Planner:
    """What went while the watch was broken stays in the cache (Sieve: unobserved states)."""

    async def replaced(self: Cache[Any], found: Any) -> None:
        for key, new in found.items():
            self._store(key, new)

    patch.setattr(Cache, "replace", replaced)
    return core.plan


def children_unheard(patch: Patch) -> Planner:
    """Only changes of the cluster itself are heard of."""
    patch.setattr(Controller, "_child_changed", lambda self, *given: None)
    return core.plan


def backoffs_by_the_wall(patch: Patch) -> Planner:
    """A wait ends when the wall clock says so, whoever sets it."""
    failed = Backoffs.failed

    def kept(self: Backoffs, key: Any, scope: str, message: str, event: str, now: float, retry_after: float | None = None) -> Backoff:
        return failed(self, key, scope, message, event, now + CLOCKS[-1].time() - CLOCKS[-1].monotonic(), retry_after)

    def seen(self: Reader, key: Any) -> Any:
        CLOCKS.append(self._clock)
        return self._backoffs.of(key, self._clock.time())

    patch.setattr(Backoffs, "failed", kept)
    patch.setattr(Reader, "backoffs", seen)
    return core.plan


CLOCKS: list[Any] = []
year_ahead = partial(steps.test_a_refused_create_is_tried_again_in_time_whatever_the_clock_does, step=steps.YEAR)

MUTANTS: dict[Mutant, Proof] = {
    own_writes_not_awaited: Proof("S15"),
    lost_answers_forgotten: Proof("S15"),
    taken_names_told: Proof("W4", first=2),
    lists_not_compared: Proof("raised", scene=watches.test_a_pod_that_went_while_the_watch_was_broken_is_replaced),
    children_unheard: Proof("golden", story="create"),
    backoffs_by_the_wall: Proof("raised", scene=year_ahead),
}
