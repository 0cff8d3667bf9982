"""What a row of probe results means."""

from __future__ import annotations

from functools import reduce

import pytest

from rayfleet.kubelet.verdicts import Tally, Timing, count, first_in, timing


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ("", None),
        ("-", None),
        ("--", None),
        ("---", False),
        ("+", None),
        ("++", True),
        ("+-+", None),
        ("++--", True),
        ("++---", False),
        ("++---+", False),
        ("++---++", True),
        ("--+--", None),
    ],
)
def test_a_verdict_turns_after_as_many_like_results_as_the_thresholds_say(results: str, verdict: bool | None) -> None:
    rule = timing({"successThreshold": 2, "failureThreshold": 3})
    assert reduce(lambda tally, one: count(tally, one == "+", rule), results, Tally()).verdict is verdict


def test_defaults() -> None:
    assert timing({}) == Timing(delay=0, period=10, timeout=1, successes=1, failures=3)


@pytest.mark.parametrize(("started_at", "seconds"), [(100.0, 5.0), (97.0, 2.0), (90.0, 0.0), (3700.0, 5.0)])
def test_the_first_probe_waits_for_the_delay_since_the_start_and_for_no_clock(started_at: float, seconds: float) -> None:
    assert first_in(timing({"initialDelaySeconds": 5}), started_at, 100.0) == seconds
