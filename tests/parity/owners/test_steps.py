"""The operator as a whole goes with RayServices, RayJobs and RayCronJobs through what the peer was recorded to go through."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.parity.named import named, unnamed
from tests.parity.owners.recording import names, recording
from tests.parity.owners.replay import NAMED, Outcome, replay_all
from tests.parity.owners.steps import steps_of
from tests.parity.verdicts import keep

DIFFERENCES = Path(__file__).parents[3] / "docs" / "differences.md"


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Of the cases that were chosen; all are played at once."""
    chosen = {item.callspec.params["name"] for item in request.session.items if item.module is request.module and hasattr(item, "callspec")}
    found = asyncio.run(replay_all(sorted(chosen), tmp_path_factory.mktemp("parity")))
    keep(request.config, {name: outcome.lines for name, outcome in found.items()}, NAMED)
    return found


@pytest.mark.parametrize("name", names())
def test_children_status_writes_and_calls_are_those_of_the_recording(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    assert unnamed(name, outcome.lines, NAMED) == [], "\n".join(f"{n}: {each}" for n, step in enumerate(outcome.writes) for each in step)


def test_every_named_difference_is_met(outcomes: dict[str, Outcome]) -> None:
    if set(outcomes) != set(names()):
        pytest.skip("not all cases were chosen")
    lines = [(name, line) for name, outcome in outcomes.items() for line in outcome.lines]
    assert [row.pattern for row in named(NAMED) if not any(row.covers(*line) for line in lines)] == []


def test_every_reason_stands_in_the_documentation() -> None:
    subjects = {line.split("|")[1].strip() for line in DIFFERENCES.read_text().splitlines() if line.startswith("| ")}
    assert {row.reason for row in named(NAMED)} - subjects == set()


def test_every_recorded_step_is_taken() -> None:
    assert {name: len(steps_of(name)) + 1 for name in names()} == {name: len(recording(name).statuses) for name in names()}
