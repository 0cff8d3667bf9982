"""Random jobs under random faults. The invariants hold after every write; then silence."""

from __future__ import annotations

from collections import Counter

import pytest

from rayfleet.rayjob import findings, status, submission
from rayfleet.rayjob.states import Finding, State
from rayfleet.sim.job_storm import FAULTS, WRITES, Broken, storm

SEEDS = 200


def test_storms_end_and_every_fault_and_every_write_occurred() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        seen += storm(seed)
    wanted = {*FAULTS, *WRITES, *(f"state {state}" for state in State if state)}
    assert wanted - seen.keys() == set()


def test_the_same_seed_gives_the_same_storm() -> None:
    assert storm(7) == storm(7)


MISTAKES: dict[str, tuple[object, str, object]] = {
    "the life of Ray is not looked at": (submission, "session_of", lambda observed: ""),
    "a try begins while another one is left": (findings, "gone", lambda observed, job: True),
    "the last word may change": (status, "terminal_word", lambda observed, job: observed.info.status if observed.info else ""),
    "what fails is told as complete": (findings, "says", None),
    "a cluster that is lost is made again": (findings, "cluster_lost", lambda observed, job: False),
    "nobody waits for a stop for ever": (submission, "stop_settled", lambda *_: False),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_known_mistakes_are_found(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    module, name, wrong = MISTAKES[mistake]
    if name == "says":
        monkeypatch.setitem(findings.HOLDS, Finding.SUCCEEDED, findings.HOLDS[Finding.FAILED])  # type: ignore[index]
    else:
        real = getattr(module, name)
        monkeypatch.setattr(module, name, wrong)
        for finding, question in findings.HOLDS.items():
            if question is real:
                monkeypatch.setitem(findings.HOLDS, finding, wrong)  # type: ignore[arg-type]
    with pytest.raises((Broken, AssertionError)):
        for seed in range(SEEDS):
            storm(seed)
