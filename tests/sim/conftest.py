"""Tells at the end of a run how often each fault and each kind of action occurred in the storms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from rayfleet.sim.invariants import Invariants
from rayfleet.sim.storm import Outcome
from rayfleet.sim.world import World


class Totals:
    """Of all storms of this run."""

    def __init__(self) -> None:
        self.storms = 0
        self.faults: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        self.storms += 1
        self.faults += outcome.faults
        self.calls += outcome.calls
        self.actions += outcome.actions


TOTALS = Totals()


@pytest.fixture
def totals() -> Totals:
    return TOTALS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TOTALS.storms:
        terminalreporter.section(f"{TOTALS.storms} storms")
        for title, counts in (("faults", TOTALS.faults), ("faults by call", TOTALS.calls), ("actions", TOTALS.actions)):
            told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
            terminalreporter.write_line(f"{title} ({counts.total()}): {told}")


@pytest.fixture
def world() -> Iterator[World]:
    """A quiet one, whose every write is judged."""
    made = World(1)
    Invariants(made)
    yield made
    made.close()
