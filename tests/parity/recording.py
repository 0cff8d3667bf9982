"""What the peer was recorded to do, case by case, as these tests keep it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.parity.canonical import Json
from tests.parity.compare import Groups

DIRECTORY = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Recording:
    """`configuration` names the operator's (see `configurations`). `creates` are the objects that were sent for the input, `jobs` the Jobs
    that were sent at any time, grouped.

    By step, beginning with 0 (the input is applied): `children` grouped, `statuses` (see `status`; None: the object is gone), `writes`:
    numbers of "status" and "other" writes. `events` is the number of Events in the whole case.
    """

    name: str
    configuration: str
    input: list[Json]
    creates: Groups
    jobs: Groups
    children: list[Groups]
    statuses: list[Json | None]
    writes: list[dict[str, int]]
    events: int

    @property
    def cluster(self) -> Json:
        return self.input[-1]


def names() -> list[str]:
    """Of those about RayClusters (`owners` has the others)."""
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


@cache
def recording(name: str) -> Recording:
    found = json.loads((DIRECTORY / f"{name}.json").read_text())
    objects: list[Json] = found.pop("objects")

    def spread(groups: dict[str, list[int]]) -> Groups:
        return {key: [objects[number] for number in numbers] for key, numbers in groups.items()}

    creates, jobs = spread(found.pop("creates")), spread(found.pop("jobs"))
    children = [spread(groups) for groups in found.pop("children")]
    return Recording(name=name, creates=creates, jobs=jobs, children=children, **found)
