"""What is counted while clusters are sized, since the process began. Told by `metrics`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from rayfleet.api.meta import Key


class Unmet(NamedTuple):
    """Of one cluster: tasks, actors and bundles that wait for room, and how many demands no allowed size could hold."""

    cluster: Key
    waiting: int
    infeasible: int


@dataclass(slots=True)
class Tally:
    """`calls`: to heads, by method and what came of them (`OK`, gRPC's code, or `UNANSWERED`); `seconds` by method. `decided`, `deciding`:
    how many decisions were made `here` or `beside`, and in how many seconds. `said`: what was decided, by the reasons of its events."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    decided: Counter[str] = field(default_factory=Counter)
    deciding: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    drains: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)

    def called(self, method: str, code: str, seconds: float) -> None:
        self.calls[method, code] += 1
        self.seconds[method] += seconds

    def was_decided(self, where: str, seconds: float) -> None:
        self.decided[where] += 1
        self.deciding[where] += seconds
