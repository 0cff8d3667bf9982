"""The back-off between two lives of a container."""

from __future__ import annotations

import pytest

from rayfleet.kubelet import restart
from rayfleet.kubelet.attempt import Attempt


def crashes(*lengths: float) -> tuple[Attempt, ...]:
    """Attempts that ran for so many seconds each."""
    return tuple(
        Attempt("main", number, f"u{number}", False, started_at=1000.0, finished_at=1000.0 + length, exit_code=1)
        for number, length in enumerate(lengths)
    )


@pytest.mark.parametrize(
    ("lives", "seconds"),
    [
        ((), 0),
        ((1,), 0),
        ((1, 1), 10),
        ((1, 1, 1), 20),
        ((1,) * 4, 40),
        ((1,) * 7, 300),
        ((1,) * 9, 300),
        ((1, 1, 1, 601), 0),
        ((1, 1, 1, 601, 1), 10),
        ((1, 1, 1, 600), 40),
    ],
)
def test_the_delay_doubles_from_ten_seconds_to_five_minutes_and_is_forgotten_after_ten(lives: tuple[float, ...], seconds: float) -> None:
    assert restart.delay(crashes(*lives)) == seconds


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 0, False), ("Never", 1, False)],
)
def test_the_policy_decides_whether_it_is_started_again(policy: str, code: int, again: bool) -> None:
    assert restart.wanted(policy, code) is again
