"""What a storm says of a mutant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rayfleet.sim.judge import Violation
from rayfleet.sim.leader import Planner


def broken_by(mutant: Callable[[pytest.MonkeyPatch], Planner | None], run: Callable[[Planner | None], object]) -> str:
    """The invariant that breaks first, "" when all hold. `run` is given the mutant's planner, if any; what else it raises is raised."""
    with pytest.MonkeyPatch.context() as patch:
        planner = mutant(patch)
        try:
            run(planner)
        except Violation as violation:
            return str(violation).partition(":")[0]
    return ""
