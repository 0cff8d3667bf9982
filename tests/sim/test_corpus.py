"""Is there somebody for every seeded fault of the corpus?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.sim.mutants import MUTANTS, crons, jobs, services
from tests.sim.mutants.corpus import CORPUS
from tests.sim.test_job_storms import TOLD

TESTS = Path(__file__).parent.parent
KILLED = {*MUTANTS, *jobs.MUTANTS, *services.MUTANTS, *crons.MUTANTS, *TOLD}


@pytest.mark.parametrize("row", CORPUS)
def test_each_fault_has_its_mutants_or_tests_and_they_are_run(row: str) -> None:
    assert CORPUS[row]
    for each in CORPUS[row]:
        if isinstance(each, str):
            file, _, name = each.partition("::")
            assert f"def {name}(" in (TESTS / file).read_text(), each
        else:
            assert each in KILLED, each.__name__


def test_there_are_forty_and_more() -> None:
    stand = {each for row in CORPUS.values() for each in row if not isinstance(each, str)}
    kinds = Counter(each.__module__.rpartition(".")[2] for each in stand)
    assert len(stand) >= 55 and kinds["jobs"] >= 15 and kinds["services"] >= 12 and kinds["crons"] >= 8, kinds
