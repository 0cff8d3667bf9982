"""How often a question is asked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayfleet.ray.lane import FIRST

LONGEST, GROWTH = 10.0, 1.6  # seconds between two askings, and how their pause grows


def never(target: Any, answer: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds between two askings: `first` while answers change and for `patience` seconds after, growing by `growth` to `longest` then.

    `eager(target, answer)`: is it worth asking as often although nothing changes?
    """

    first: float = FIRST
    longest: float = LONGEST
    growth: float = GROWTH
    patience: float = 0.0
    eager: Callable[[Any, Any], bool] = never

    def next(self, pause: float, target: Any, answer: Any, quiet: float) -> float:
        """`quiet`: for how many seconds the answer has been this one, 0 for one that is new."""
        if quiet <= self.patience or self.eager(target, answer):
            return self.first
        return min(max(pause, self.first) * self.growth, self.longest)


STEADY = Rhythm()
