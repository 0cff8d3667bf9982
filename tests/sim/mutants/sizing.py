"""Known faults of who sizes clusters, put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rayfleet.autoscaling import sizing
from rayfleet.autoscaling.drains import Departures

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def writing(patch: Patch, change: Callable[[str, Any], Any]) -> None:
    """Each operation's value is another one: `change(the last part of its path, the value)`."""
    real = sizing.operations

    def operations(observed: Any, decision: Any) -> Iterator[dict[str, Any]]:
        for each in real(observed, decision):
            yield {**each, "value": change(each["path"].rpartition("/")[2], each["value"])}

    patch.setattr(sizing, "operations", operations)


def bounds_ignored(patch: Patch) -> None:
    """More replicas than the group may have."""
    writing(patch, lambda field, value: value + 10 if field == "replicas" else value)


def half_a_replica(patch: Patch) -> None:
    """One host of a replica is named, and the others are not."""
    writing(patch, lambda field, value: value if field == "replicas" else {"workersToDelete": value["workersToDelete"][:1]})


def refusals_ignored(patch: Patch) -> None:
    """A node that was asked to go goes, whatever Ray says."""
    patch.setattr(Departures, "over", lambda self, each: each.pod in self.drains)


def work_unseen(patch: Patch) -> None:
    """Work on a node is no reason to keep it."""
    patch.setattr(Departures, "over", lambda self, each: bool(each.node))


MUTANTS: dict[Mutant, str] = {bounds_ignored: "Z1", half_a_replica: "Z5", refusals_ignored: "Z3", work_unseen: "Z3"}
