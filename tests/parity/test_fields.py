"""docs/api.md has a row for each field, and the tests that it names exist."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.parity.fields.catalogue import ROOT, FieldOfApi, acts_in, catalogue
from tests.parity.recording import names

ROWS = {
    cells[0].strip("` "): (cells[1].strip(), cells[2].strip())
    for line in (ROOT / "docs/api.md").read_text().splitlines()
    if line.startswith("| `") and (cells := line.strip("|").replace("\\|", "/").split("|"))
}


@cache
def functions(path: str) -> frozenset[str]:
    return frozenset(
        node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_every_field_has_its_row_and_no_row_is_of_another() -> None:
    assert list(ROWS) == [field.path for field in catalogue()]
    assert sum(field.keys[0] == "spec" for field in catalogue()) == 89
    assert sum(field.keys[0] == "status" for field in catalogue()) == 21


@pytest.mark.parametrize("field", catalogue(), ids=lambda field: field.path)
def test_a_field_acts_somewhere_and_a_test_knows(field: FieldOfApi) -> None:
    places, test = ROWS[field.path]
    assert places, "acts nowhere"
    files = {place.strip("` ") for place in places.split(",") if ".py" in place}
    assert files <= set(acts_in(field)), "moved: run python -m tests.parity.fields"
    file, _, name = test.strip("`").partition("::")
    function, _, case = name.partition("[")
    assert function in functions(file)
    assert not file.endswith("test_render.py") or case.rstrip("]") in names()
