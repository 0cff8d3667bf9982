"""The tables of docs/*.md."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def rows(file: str) -> list[list[str]]:
    """The cells of every row whose first cell is `code`, without its quotes there."""
    lines = [line for line in (DOCS / file).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[row[0].strip("`"), *row[1:]] for row in found]
