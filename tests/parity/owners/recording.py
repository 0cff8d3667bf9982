"""What the peer was recorded to make of a RayService, RayJob or RayCronJob, case by case, as these tests keep it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.parity.canonical import Json
from tests.parity.compare import Groups

DIRECTORY = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Recording:
    """By step, beginning with 0 (the input is applied): `children` grouped, `statuses` (see `status`; None: the object is gone), `writes`
    in numbers of "own" and "clusters" (status writes of the object and of RayClusters), "marks" (other changes of Ray's kinds) and "other"
    ones, `acts` (what Ray was told to do: `POST 1 /path body`, where 1 is the first cluster that was told something), `order` (of what was
    made and removed), `course` (the values of `jobDeploymentStatus`).

    `events` are those about the object, `type reason`; `noise` is how many Events were written in all.
    """

    name: str
    configuration: str
    input: list[Json]
    children: list[Groups]
    statuses: list[Json | None]
    writes: list[dict[str, int]]
    acts: list[list[str]]
    order: list[list[str]]
    course: list[list[str]]
    events: list[str]
    noise: int

    @property
    def owner(self) -> Json:
        return self.input[-1]


def names() -> list[str]:
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


@cache
def recording(name: str) -> Recording:
    found: dict[str, Any] = json.loads((DIRECTORY / f"{name}.json").read_text())
    objects: list[Json] = found.pop("objects")
    children = [{key: [objects[number] for number in numbers] for key, numbers in groups.items()} for groups in found.pop("children")]
    return Recording(name=name, children=children, **found)
