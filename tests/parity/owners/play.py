"""A case on the stage: what of it can be seen from outside."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rayfleet.api.meta import EVENTS, GATEWAYS, HTTPROUTES, PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Resource
from tests.parity.canonical import Json
from tests.parity.owners.dashboard import Dashboard
from tests.parity.owners.recording import Recording
from tests.parity.owners.roads import Roads
from tests.parity.owners.take_over import shortened
from tests.parity.stage import CHILDREN, Stage, found
from tests.parity.swift import SwiftClock

OWNERS = {each.kind: each for each in (RAYSERVICES, RAYJOBS, RAYCRONJOBS)}
MADE_FOR = ("RayCluster", *OWNERS)
FILE = Path(__file__).with_name("cases.tsv")
EVERY_MINUTE = "* * * * *"
SOON = 20.0  # of the case's seconds: to create an object


@dataclass(frozen=True)
class Manner:
    """What a case's jobs come to, and what else is its own."""

    outcomes: tuple[str, ...] = ("SUCCEEDED",)
    own: str = ""

    @property
    def mood(self) -> str:
        return self.own if self.own in ("refuses submissions", "no proxy") else ""

    @property
    def stuck(self) -> str:
        return self.own.removeprefix("stuck in ") if self.own.startswith("stuck in ") else ""


def manners() -> dict[str, Manner]:
    rows = [line.split("\t") for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return {name: Manner(tuple(each.strip("-") for each in outcomes.split()), *own) for name, outcomes, *own in rows}


@dataclass
class Play:
    """`names` are those of clusters and jobs that were seen: their random ends say nothing. `due` is when the time of a RayCronJob comes,
    by the case's clock."""

    stage: Stage
    case: Recording
    dashboard: Dashboard
    clock: SwiftClock
    roads: Roads
    owner: Json
    names: set[str] = field(default_factory=set)
    due: float = 0.0

    @property
    def namespace(self) -> str:
        return str(self.owner["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.owner["metadata"]["name"])

    @property
    def resource(self) -> Resource:
        return OWNERS[self.owner["kind"]]

    def set_time(self) -> None:
        """Every minute becomes one minute of every hour: however slow the machine is, one time comes, and no second one."""
        spec = self.owner["spec"]
        if spec.get("schedule") == EVERY_MINUTE:
            minute = (self.clock.time() + SOON) // 60 + 1
            self.due, spec["schedule"] = minute * 60, f"{minute % 60:.0f} * * * *"

    async def get(self) -> Json | None:
        return await found(self.stage.client, self.resource, self.name, self.namespace)

    async def clusters(self) -> list[Json]:
        return await self.stage.client.list(RAYCLUSTERS, self.namespace)

    async def head(self) -> str:
        (head,) = await self.stage.client.list(PODS, self.namespace, labels="ray.io/node-type=head")
        return str(head["metadata"]["name"])

    async def children(self) -> list[Json]:
        """All that belongs to the object, at any remove, but for what other controllers made of it."""
        kinds = [each for each in (RAYCLUSTERS, RAYJOBS, GATEWAYS, HTTPROUTES, *CHILDREN) if each != self.resource]
        lists = await asyncio.gather(*(self.stage.listed(kind, self.namespace) for kind in kinds))
        return [
            {"apiVersion": kind.api_version, "kind": kind.kind, **item}
            for kind, items in zip(kinds, lists, strict=True)
            for item in items
            if any(owner["kind"] in MADE_FOR for owner in item["metadata"].get("ownerReferences") or ())
        ]

    async def events(self) -> list[str]:
        """Those about the object."""
        found = await self.stage.client.list(EVENTS, self.namespace)
        return sorted({f"{each['type']} {each['reason']}" for each in found if each["regarding"]["kind"] == self.owner["kind"]})

    def learn(self, objects: list[Json]) -> None:
        """The names by which clusters and jobs are called."""
        for each in objects:
            if each["kind"] in ("RayCluster", "RayJob"):
                self.names |= {each["metadata"]["name"], (each.get("status") or {}).get("jobId") or ""}
        self.names |= {*self.dashboard.heads, *self.dashboard.ids}

    def anonymous(self, text: str) -> str:
        """Random and hashed ends of names as the recordings have them, and the namespace."""
        for name in sorted(self.names, key=len, reverse=True):
            if self.case_end.match(name):
                text = re.sub(rf"\b{re.escape(name)}\b", self.case_end.sub(r"\1-rrrrr", name), text)
        text = re.sub(rf"\b{re.escape(self.name)}-\d{{7,8}}\b", f"{self.name}-<minutes>", text.replace(self.namespace, "demo"))
        return shortened(text, self.name)

    @cached_property
    def case_end(self) -> re.Pattern[str]:
        return re.compile(rf"^({re.escape(self.name)}(?:-\d{{7,8}})?)-[a-z0-9]{{5}}$")

    def renamed(self, value: Json) -> Json:
        found: Json = json.loads(self.anonymous(json.dumps(value)))
        return found
