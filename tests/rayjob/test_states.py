"""The tables themselves: nothing is missing in them, nothing is in them that cannot be."""

from __future__ import annotations

from rayfleet.rayjob.findings import HOLDS
from rayfleet.rayjob.states import ALLOWED, RETRIED, TABLE, TERMINAL, Finding, State


def test_every_state_has_rows_and_an_end() -> None:
    assert TABLE.keys() == set(State) == ALLOWED.keys()
    for rows in TABLE.values():
        assert list(rows)[-1] is Finding.ALWAYS


def test_every_finding_is_asked_and_used() -> None:
    used = {finding for rows in TABLE.values() for finding in rows}
    assert used == set(Finding)
    assert HOLDS.keys() == used - {Finding.ALWAYS, Finding.INVALID}


def test_terminal_states_are_terminal() -> None:
    for state in TERMINAL:
        assert {step.state for step in TABLE[state].values()} == {state}


def test_every_state_is_reached_and_left() -> None:
    reached = {step.state for state, rows in TABLE.items() for step in rows.values() if step.state is not state}
    assert reached == set(State) - {State.NEW, State.RETRYING}, "a retry takes the place of a failure"
    left = {state for state, rows in TABLE.items() if any(step.state is not state for step in rows.values())}
    assert left == set(State) - TERMINAL


def test_every_failure_says_why_and_whether_it_is_tried_again() -> None:
    reasons = {step.reason for rows in TABLE.values() for step in rows.values() if step.state is State.FAILED and step.reason}
    assert reasons == RETRIED.keys()


def test_a_job_never_runs_by_one_status_and_has_ended_by_the_other() -> None:
    for state in TERMINAL:
        assert not {"PENDING", "RUNNING"} & set(ALLOWED[state])
