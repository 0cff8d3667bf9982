"""Every case, on both servers. Without the control plane: the embedded API against what the real one answered when that was recorded."""

from __future__ import annotations

import json

import pytest

from tests.conformance.cases import CASES
from tests.conformance.document import FILE, document
from tests.conformance.paths import differences
from tests.conformance.purpose import TABLE, covered
from tests.conformance.recorded import Answers, recorded


def told(found: list[tuple[str, object, object]], left: str, right: str) -> str:
    return "\n".join(f"{path}\n  {left}: {json.dumps(a)}\n  {right}: {json.dumps(b)}" for path, a, b in found)


@pytest.mark.parametrize("name", CASES)
def test_the_embedded_api_answers_as_recorded(ours: Answers, name: str) -> None:
    topic, case = CASES[name]
    found = [each for each in differences(recorded(topic)[name], ours.of(case)) if not covered(name, each[0])]
    assert not found, told(found, "real", "embedded")


@pytest.mark.testbed
@pytest.mark.parametrize("name", CASES)
def test_both_answer_alike(theirs: Answers, ours: Answers, name: str) -> None:
    topic, case = CASES[name]
    live = theirs.of(case)
    stale = [each for each in differences(recorded(topic)[name], live) if not covered(name, each[0])]
    assert not stale, "record again: python -m tests.conformance.recorded\n" + told(stale, "recorded", "now")
    found = [each for each in differences(live, ours.of(case)) if not covered(name, each[0])]
    assert not found, told(found, "real", "embedded")


def test_the_cases_are_enough_and_look_at_bodies() -> None:
    assert len(CASES) >= 120
    for name, (topic, _) in CASES.items():
        assert any(answer.get("body") not in (None, "") for answer in recorded(topic)[name]), name


def test_no_difference_is_excused_that_is_not_there(ours: Answers) -> None:
    met = set()
    for name, (topic, case) in CASES.items():
        for path, _, _ in differences(recorded(topic)[name], ours.of(case)):
            met |= {difference for difference in TABLE if difference.covers(name, path)}
    assert [difference for difference in TABLE if difference not in met] == []


def test_the_document_is_what_the_tables_say(ours: Answers) -> None:
    assert FILE.read_text() == document(ours), "write it again: python -m tests.conformance.document"
