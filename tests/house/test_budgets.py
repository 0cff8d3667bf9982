"""The house keeps its rules: sizes, names, and what it may not speak of."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "rayfleet").rglob("*.py"))
FILE_LINES = 400
FUNCTION_LINES = 60
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_one_noun_of_bounded_size(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= FILE_LINES, "split it by noun"
    assert path.stem not in FORBIDDEN_NAMES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_is_one_verb_of_bounded_size(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            assert size <= FUNCTION_LINES, f"{node.name} has {size} lines"


@pytest.mark.parametrize(
    "package", ["api", "planning", "resources", "raycluster", "rayjob", "raycronjob", "rayservice", "legacy", "diagnosis"]
)
def test_pure_packages_hold_nothing_asynchronous(package: str) -> None:
    for path in (ROOT / "rayfleet" / package).rglob("*.py"):
        if path.name == "observe.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{path.name}:{node.lineno}"


def test_every_package_says_what_it_is() -> None:
    for path in SOURCES:
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text())), path


def test_the_changelog_knows_this_version() -> None:
    version = re.search(r'VERSION = "(.*)"', (ROOT / "rayfleet" / "version.py").read_text())
    assert version
    assert f"## {version.group(1)}" in (ROOT / "CHANGELOG.md").read_text()
