"""The operator as a whole goes through what the peer was recorded to go through, and ends where the peer did, with no more writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.named import named, unnamed
from tests.parity.recording import names, recording
from tests.parity.replay import Outcome, replay_all
from tests.parity.steps import table
from tests.parity.test_render import differences
from tests.parity.verdicts import keep


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """Of the cases that were chosen; all are played at once."""
    chosen = {item.callspec.params["name"] for item in request.session.items if item.module is request.module and hasattr(item, "callspec")}
    found = asyncio.run(replay_all(sorted(chosen), tmp_path_factory.mktemp("parity")))
    keep(request.config, {name: outcome.lines for name, outcome in found.items()})
    yield found


@pytest.mark.parametrize("name", names())
def test_children_status_and_writes_are_those_of_the_recording(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    assert unnamed(name, outcome.lines) == [], "\n".join(f"{n}: {each}" for n, step in enumerate(outcome.writes) for each in step)


def test_every_named_difference_is_met(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    if set(outcomes) != set(names()):
        pytest.skip("not all cases were chosen")
    lines = [(name, line) for name in names() for line in [*differences(recording(name), tmp_path), *outcomes[name].lines]]
    here = [row for row in named() if row.cases != ("-",)]
    assert [row.pattern for row in here if not any(row.covers(*line) for line in lines)] == []


def test_the_table_has_the_recorded_steps() -> None:
    assert set(table()) <= set(names())
