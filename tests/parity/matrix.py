"""The takeover of every recorded moment as a table, in docs/migration.md.

usage: python -m tests.parity.matrix
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from rayfleet.api.crds import crds
from tests.parity.adoption import Seen, taken_over
from tests.parity.canonical import Json
from tests.parity.grounds import embedded_with
from tests.parity.peer_definitions import peer_crds
from tests.parity.standing import moments

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
NAMED = Path(__file__).with_name("adoption_named.tsv")
HEADING = "## From KubeRay to rayfleet: every recorded moment\n"
TOLD = """
Written by `python -m tests.parity.matrix`, and kept true by a test. Each recording of KubeRay's RayClusters is set up as it stood after
each of its steps, Pods ready, with KubeRay's status; then rayfleet is started, with the configuration of the recording. Counts are given
with KubeRay's definitions / with ours. The former are ours reduced to the fields that our reference lists for v1.7 and the metadata that
it keeps in Pod templates: its own file was not at hand, and Pod templates are not spelled out. We add none, so that little is pruned;
v1.6.2's own definitions are those of the test above. A second start wrote nothing, but where a creation goes on being refused.
"""
DEFINITIONS: Mapping[str, Callable[[], Iterable[Json]]] = {"KubeRay's": peer_crds, "ours": crds}
Outcomes = Mapping[str, Sequence[Seen]]


def outcomes(directory: Path) -> Outcomes:
    """By whose definitions are installed, each on embedded API servers of its own."""

    async def all_of_them() -> Outcomes:
        return {name: await taken_over(moments(), embedded_with(made), directory) for name, made in DEFINITIONS.items()}

    return asyncio.run(all_of_them())


@cache
def named() -> dict[str, str]:
    """Why a recording's takeover changes something."""
    return {case: reason for case, reason, *_ in rows()}


def touching_pods() -> set[str]:
    """The recordings whose takeover makes or deletes Pods."""
    return {case for case, _, *more in rows() if more}


def rows() -> list[list[str]]:
    return [line.split("\t") for line in NAMED.read_text().splitlines() if not line.startswith("#")]


def table(found: Outcomes) -> str:
    sides = [by_case(found[name]) for name in DEFINITIONS]
    lines = [row(case, [side[case] for side in sides]) for case in sorted(sides[0])]
    silent = [[seen for case, group in side.items() if case not in named() for seen in group] for side in sides]
    total = row("all but those with a reason", silent)
    return "\n".join([*HEAD, *lines, total]) + "\n"


HEAD = (
    "| recording | moments | Pods | Pods made | Pods deleted | status writes after the first | other writes | why |",
    "|---|---|---|---|---|---|---|---|",
)


def row(case: str, sides: Sequence[Sequence[Seen]]) -> str:
    def both(count: Callable[[Seen], int]) -> str:
        return " / ".join(str(sum(map(count, side))) for side in sides)

    cells = [str(len(sides[0])), str(sum(seen.pods for seen in sides[0]))]
    cells += [both(lambda seen: seen.count("create", "pods")), both(lambda seen: seen.count("delete", "pods"))]
    cells += [both(later_statuses), others(sides), named().get(case, "")]
    return f"| {case} | {' | '.join(cells)} |"


def later_statuses(seen: Seen) -> int:
    return max(seen.count("patch", "rayclusters", "status") - 1, 0)


def others(sides: Sequence[Sequence[Seen]]) -> str:
    kinds = [sum((seen.others for seen in side), Counter[str]()) for side in sides]
    return ", ".join(f"{name} {' / '.join(str(kind[name]) for kind in kinds)}" for name in sorted(set().union(*kinds)))


def by_case(found: Iterable[Seen]) -> dict[str, list[Seen]]:
    groups: dict[str, list[Seen]] = {}
    for seen in found:
        groups.setdefault(seen.moment.case, []).append(seen)
    return groups


def changed(seen: Seen) -> Iterator[str]:
    """What is more than one status write; nothing for a takeover in silence."""
    yield from lives(seen)
    if later_statuses(seen):
        yield "more than one status write"
    yield from (f"{name}, {times} times" for name, times in seen.others.items())
    if not seen.kept:
        yield "a Pod is gone"
    yield from (f"at a second start: {each}" for each in seen.second)


def lives(seen: Seen) -> list[str]:
    """Pods made and deleted, or tried to."""
    return [str(each) for each in seen.first if each.resource == "pods" and each.verb in ("create", "delete")]


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        text = table(outcomes(Path(directory)))
    page = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(f"{page}{HEADING}{TOLD}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
