"""Plays a case: the input, then each step, and after each what differs from the recording."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayfleet.kube.errors import Invalid
from tests.issuer.issuer import Mood
from tests.parity.canonical import Json
from tests.parity.compare import compared, differences, grouped
from tests.parity.configurations import configuration
from tests.parity.ledger import Entry, counted
from tests.parity.named import unnamed
from tests.parity.recording import Recording, recording
from tests.parity.stage import Stage, open_namespace, stage, until
from tests.parity.status import told
from tests.parity.steps import HOLLOW, HOLLOW_JOB, Play, Step, table

QUIET = 1.3  # seconds: a status write may be held back for one
PATIENCE = 60.0
FATES: dict[str, tuple[tuple[Any, ...], Json]] = {  # what the hollow kubelet does with Pods of a group
    "raycluster-worker-pending": (("workerGroupSpecs", 1), {HOLLOW: "pending"}),
    "raycluster-ft-head-pending-delete": (("headGroupSpec",), {HOLLOW: "pending", HOLLOW_JOB: "succeed"}),
    "raycluster-ft-cleanup-timeout": (("headGroupSpec",), {HOLLOW_JOB: "pending"}),
}
TIMEOUT = "ray.io/gcs-ft-deletion-timeout"  # of the one case that has it 2 of its 15 seconds are enough


@dataclass
class Outcome:
    """`lines` are the differences after all steps, `writes` what the operator wrote, by step."""

    lines: list[str] = field(default_factory=list)
    writes: list[list[Entry]] = field(default_factory=list)


async def replay_all(names: Iterable[str], directory: Path) -> dict[str, Outcome]:
    """All cases side by side, each in a namespace of its own; operators of different configurations have a server each."""
    by_configuration: dict[str, list[str]] = {}
    for name in names:
        by_configuration.setdefault(recording(name).configuration, []).append(name)
    async with AsyncExitStack() as stack:
        plays = []
        for chosen, cases in by_configuration.items():
            mood = Mood.WILLING if chosen == "gates" else None
            place = await stack.enter_async_context(stage(configuration(chosen, directory), mood=mood))
            plays += [(case, replay(place, recording(case))) for case in cases]
        return dict(zip((case for case, _ in plays), await asyncio.gather(*(play for _, play in plays)), strict=True))


async def replay(place: Stage, case: Recording) -> Outcome:
    namespace = f"parity-{case.name}"
    await open_namespace(place.client, namespace)
    manifests = [moved(obj, namespace) for obj in case.input]
    play = Play(place, namespace, with_fate(case, manifests[-1]))
    outcome = Outcome()
    await take(play, case, outcome, [*manifests[:-1], play.cluster])
    for step in table().get(case.name, ()):
        await take(play, case, outcome, step)
    events = sum(entry.kind == "events" for entry in place.ledger.of(namespace))
    if events > case.events:
        outcome.lines.append(f"writes/events: recorded {case.events}, rendered {events}")
    return outcome


def moved(obj: Json, namespace: str) -> Json:
    found: Json = json.loads(json.dumps({**obj, "metadata": {**obj["metadata"], "namespace": namespace}}))
    return found


def with_fate(case: Recording, cluster: Json) -> Json:
    """The hollow kubelet learns from annotations which Pods stay pending."""
    if case.name in FATES:
        place, fate = FATES[case.name]
        group = cluster["spec"]
        for part in place:
            group = group[part]
        group["template"].setdefault("metadata", {})["annotations"] = fate
    if TIMEOUT in (cluster["metadata"].get("annotations") or {}):
        cluster["metadata"]["annotations"][TIMEOUT] = "2"
    return cluster


async def take(play: Play, case: Recording, outcome: Outcome, step: list[Json] | Step) -> None:
    """One step, until all is as recorded and quiet; else until patience ends."""
    number = len(outcome.writes)
    before = len(play.stage.ledger.of(play.namespace))
    deadline = time.monotonic() + PATIENCE
    await do(play, step)
    lines: list[str] = []

    async def settled() -> bool:
        nonlocal lines
        if play.stage.ledger.quiet_for(play.namespace) < QUIET:
            return False
        lines = await found(play, case, number)
        return not unnamed(case.name, lines) or time.monotonic() > deadline

    try:
        await until(settled, PATIENCE * 2)
    except TimeoutError:
        lines.append(f"step/{number}: never quiet")
    outcome.lines += lines
    outcome.writes.append(play.stage.ledger.of(play.namespace)[before:])
    outcome.lines += too_many(case, number, outcome.writes[-1])


async def do(play: Play, step: list[Json] | Step) -> None:
    if isinstance(step, Step):
        await step.take(play)
        return
    for obj in step:
        try:
            await play.stage.apply(obj)
        except Invalid:
            assert obj is play.cluster, obj["kind"]


async def found(play: Play, case: Recording, number: int) -> list[str]:
    children = [without_fate(child) for child in await play.stage.children(play.namespace)]
    lines = list(compared(case.children[min(number, len(case.children) - 1)], grouped(children, play.namespace)))
    cluster = await play.stage.cluster(play.namespace, play.name)
    recorded = case.statuses[number]
    if (cluster is None) != (recorded is None):
        return [*lines, f"status/step{number}: recorded {recorded and 'there'}, rendered {cluster and 'there'}"]
    if cluster is None:
        return lines
    status = told(cluster.get("status") or {}, cluster["metadata"]["generation"])
    return lines + [f"status/step{number} {line}" for line in differences(recorded, status, "")]


def without_fate(child: Json) -> Json:
    kept = {name: value for name, value in (child["metadata"].get("annotations") or {}).items() if name not in (HOLLOW, HOLLOW_JOB)}
    return {**child, "metadata": {**child["metadata"], "annotations": kept}}


def too_many(case: Recording, number: int, entries: list[Entry]) -> list[str]:
    """Events are counted for the whole case."""
    ours = counted(entries)
    most = {"fences": 0, **(case.writes[number] if number < len(case.writes) else {"status": 0, "other": 0})}
    return [f"writes/step{number} {kind}: recorded {most[kind]}, rendered {ours[kind]}" for kind in most if ours[kind] > most[kind]]
