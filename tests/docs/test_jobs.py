"""docs/jobs.md draws the state machine as the table has it. Print it anew: python -m tests.docs.test_jobs"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rayfleet.rayjob.states import ALLOWED, RETRIED, TABLE, State

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "jobs.md"


def name(state: State) -> str:
    return state.value or "New"


def diagram() -> Iterator[str]:
    yield "stateDiagram-v2"
    for state, rows in TABLE.items():
        for finding, step in rows.items():
            if step.state is state:
                continue
            told = f"{finding.value} ({step.reason})" if step.reason else finding.value
            yield f"    {name(state)} --> {name(step.state)}: {told}"
            if RETRIED.get(step.reason) and step.state is State.FAILED:
                yield f"    {name(state)} --> Retrying: {told}, and backoffLimit allows"


def pairs() -> Iterator[str]:
    for state, words in ALLOWED.items():
        yield f"| {name(state)} | {', '.join(word or 'none' for word in words)} |"


def test_the_document_shows_the_table() -> None:
    text = DOCUMENT.read_text()
    assert "\n".join(diagram()) in text
    assert "\n".join(pairs()) in text


if __name__ == "__main__":
    print("\n".join(diagram()), "\n".join(pairs()), sep="\n\n")
