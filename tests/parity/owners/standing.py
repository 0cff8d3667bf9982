"""The moments at which another operator may take a recorded RayService, RayJob or RayCronJob over: all that stood after each step, and Ray.

standing/    one file for each case: the children of each step as the API server stored them, the object's metadata and status, and which
             Serve config each cluster had been told by then
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rayfleet.apiserver.patch import edited, merged
from tests.parity.canonical import Json
from tests.parity.owners.recording import recording
from tests.parity.owners.steps import steps_of
from tests.parity.standing import SECRET

DIRECTORY = Path(__file__).with_name("standing")


@dataclass(frozen=True)
class Moment:
    """`owner` is the manifest with what steps have made of it, and with its status; `others` stand beside it; `children` hang below.
    `serve` is the Serve config of each cluster. `<time>`, `<uid>`, `<uid8>` and `<podip>` are still to be filled in."""

    case: str
    step: int
    configuration: str
    others: list[Json]
    owner: Json
    children: list[Json]
    serve: dict[str, Json]

    @property
    def namespace(self) -> str:
        return f"at-{self.case}-{self.step}"


@cache
def moments() -> tuple[Moment, ...]:
    """Not of a schedule that goes on: a minute may pass while it is looked at."""
    found = [moment for path in sorted(DIRECTORY.glob("*.json")) for moment in told(path.stem)]
    return tuple(moment for moment in found if not (moment.owner["kind"] == "RayCronJob" and moment.children))


def told(name: str) -> Iterator[Moment]:
    found = named(json.loads((DIRECTORY / f"{name}.json").read_text()))
    case = recording(name)
    owner = deepcopy(case.owner)
    for number, state in enumerate(found["steps"]):
        if number:
            owner = after(steps_of(name)[number - 1].deed, steps_of(name)[number - 1].details, owner)
        if state is None:
            continue
        metadata = {**owner["metadata"], **{key: value for key, value in state["metadata"].items() if key != "generation"}}
        status = dict(state["status"] or {})
        current = status.get("observedGeneration") == state["metadata"]["generation"]
        status |= {"observedGeneration": 1 if current else 0} if "observedGeneration" in status else {}
        children = [found["objects"][place] for place in state["children"]]
        yield Moment(
            name, number, case.configuration, case.input[:-1], {**owner, "metadata": metadata, "status": status}, children, state["serve"]
        )


def after(deed: str, details: object, owner: Json) -> Json:
    """What a step does to what the user applied; what it does to children is seen in them."""
    if deed.startswith("patch"):
        return dict(edited(owner, details))
    if deed == "merge":
        return dict(merged(owner, details))
    if deed == "submit by hand":
        assert isinstance(details, dict)
        return {**owner, "spec": {**owner["spec"], "jobId": details["id"]}}
    return owner


def named(found: Json) -> Json:
    """With something in the place of random ends of names, of secrets and minutes."""
    text = json.dumps(found).replace("<secret>", SECRET).replace("<minutes>", "29000000")
    result: Json = json.loads(re.sub(r"<rand(\d+)>", lambda each: f"r{int(each[1]):04d}", text))
    return result
