"""The differences that are meant: REGEX, reason and (where it is about few cases) their names, one a line, between tabs.

`-` for the cases: no recording at hand shows it.

The first two columns are read by the recordings' own tool as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("named_differences.tsv")


@dataclass(frozen=True)
class Named:
    pattern: str
    reason: str
    cases: tuple[str, ...]

    def covers(self, case: str, line: str) -> bool:
        return any(fnmatch(case, glob) for glob in self.cases) and re.search(self.pattern, line) is not None


@cache
def named(file: Path = FILE) -> tuple[Named, ...]:
    rows = [line.split("\t") for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return tuple(Named(row[0], row[1], tuple(row[2].split()) if len(row) > 2 else ("*",)) for row in rows)


def unnamed(case: str, lines: list[str], *more: Path) -> list[str]:
    """The lines that nobody has given a reason for, here or in other such tables."""
    rows = [row for file in (FILE, *more) for row in named(file)]
    return [line for line in lines if not any(row.covers(case, line) for row in rows)]
