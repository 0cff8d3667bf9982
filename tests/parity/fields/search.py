"""Runs the fast tests of decisions and of parity again and again, each time without one field, until one fails."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.parity.fields.catalogue import ROOT, FieldOfApi, catalogue
from tests.parity.fields.dropping import ignored

TESTS = ("tests/raycluster", "tests/resources", "tests/api/test_validation.py", "tests/parity/test_render.py", "tests/parity/fields")


class Search:
    """A plugin whose run finds, for each field, the first test that fails without it ("" for none)."""

    def __init__(self, fields: Iterable[FieldOfApi]) -> None:
        self.fields = tuple(fields)
        self.found: dict[str, str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = [item for item in session.items if isinstance(item, pytest.Function) and not inspect.iscoroutinefunction(item.function)]
        # Twice, as some tests spoil what they are given.
        sound = [item for item in items if passes(item) and passes(item)]
        for field in self.fields:
            begun = time.monotonic()
            with ignored(field.keys):
                self.found[field.path] = next((item.nodeid for item in likely_first(sound, field) if not passes(item)), "")
            print(f"{time.monotonic() - begun:6.1f} s  {field.path}: {self.found[field.path] or '-'}", file=sys.stderr, flush=True)
        return True


def passes(item: pytest.Function) -> bool:
    item._initrequest()
    return all(report.outcome != "failed" for report in runtestprotocol(item, log=False, nextitem=None))


def likely_first(items: list[pytest.Function], field: FieldOfApi) -> list[pytest.Function]:
    """Those whose text, or whose recording, names the field; what acts on it before what only checks it."""
    words = {field.keys[-1], field.attribute, field.keys[-2]}
    scores = {item: sum(word in text_of(item) for word in words) for item in items}
    return sorted(items, key=lambda item: ("validation" in item.nodeid, -scores[item]))


def text_of(item: pytest.Function) -> str:
    case = getattr(item, "callspec", None)
    name = str(case.params.get("name", "")) if case else ""
    recorded = ROOT / "tests/parity/recorded" / f"{name}.json"
    known = TEXTS.get(item.nodeid)
    if known is None:
        known = TEXTS[item.nodeid] = inputs_of(recorded) if name and recorded.exists() else inspect.getsource(item.function) + item.name
    return known


TEXTS: dict[str, str] = {}


def inputs_of(recorded: Path) -> str:
    """The part of a recording before the objects that were made."""
    return recorded.read_text().partition('"objects"')[0]


def search(fields: Iterable[FieldOfApi] | None = None) -> dict[str, str]:
    """By path of the field the test that fails without it."""
    plugin = Search(catalogue() if fields is None else fields)
    code = pytest.main(["-q", "-p", "no:cacheprovider", *(str(ROOT / place) for place in TESTS)], plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the tests could not be run: {code}")
    return plugin.found
