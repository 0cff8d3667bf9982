"""What came of each recording that was played: equal, different for reasons that have names, or waiting for what is not there yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.parity.named import FILE, named, unnamed

SCHEDULERS = ("kai-rayjob", "scheduler-plugins-raycluster", "volcano-autoscaling", "volcano-raycluster", "yunikorn-gang", "yunikorn-rayjob")


class Verdict(NamedTuple):
    """`reasons` are those of this case; `usual` are those that any case may have."""

    word: str
    reasons: tuple[str, ...]
    usual: tuple[str, ...]


VERDICTS: pytest.StashKey[dict[str, Verdict]] = pytest.StashKey()


def verdict(case: str, lines: list[str], *more: Path) -> Verdict:
    rows = [row for file in (FILE, *more) for row in named(file)]
    met = [row for row in rows if any(row.covers(case, line) for line in lines)]
    own = tuple(sorted({row.reason for row in met if row.cases != ("*",)}))
    usual = tuple(sorted({row.reason for row in met if row.cases == ("*",)}))
    if left := unnamed(case, lines, *more):
        return Verdict("DIFFERENT", (f"{len(left)} differences without a name",), usual)
    return Verdict("by name" if own else "equal", own, usual)


def keep(config: pytest.Config, found: Mapping[str, list[str]], *more: Path) -> None:
    """For the table at the end of the run."""
    kept = config.stash.setdefault(VERDICTS, {})
    kept |= {case: verdict(case, lines, *more) for case, lines in found.items()}


def table(found: Mapping[str, Verdict]) -> Iterator[str]:
    """One line for each recording; above it, what holds for many of them and is not told again. What waits is not played."""
    found = {**found, **dict.fromkeys(SCHEDULERS, Verdict("waiting", ("batch schedulers are not served yet",), ()))}
    usual = sorted({reason for each in found.values() for reason in each.usual})
    yield f"usual, and not told again: {'; '.join(usual)}"
    width = max(map(len, found))
    for case in sorted(found):
        yield f"{case:{width}}  {found[case].word:9}  {'; '.join(found[case].reasons)}".rstrip()
    yield f"{len(found)} recordings: {', '.join(counts(found.values()))}"


def counts(found: Iterable[Verdict]) -> Iterator[str]:
    words = [each.word for each in found]
    names = {"equal": "equal but for the usual", "by name": "different by name", "waiting": "waiting", "DIFFERENT": "DIFFERENT"}
    return (f"{words.count(word)} {name}" for word, name in names.items() if word in words or word != "DIFFERENT")
