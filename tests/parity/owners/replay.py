"""Plays cases side by side: the input, then each step, and after each what differs from the recording."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rayfleet.api.crds import crds
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.kube.errors import Invalid
from rayfleet.kubelet.hollow import Fate, Pod
from tests.gateway.definitions import DEFINITIONS
from tests.parity.canonical import Json
from tests.parity.chronicle import chronicle
from tests.parity.compare import compared, differences, grouped
from tests.parity.configurations import configuration
from tests.parity.grounds import embedded_with
from tests.parity.ledger import Entry
from tests.parity.named import unnamed
from tests.parity.owners.dashboard import Dashboard, Dashboards
from tests.parity.owners.play import Manner, Play, manners
from tests.parity.owners.recording import Recording, recording
from tests.parity.owners.roads import Roads, open_roads
from tests.parity.owners.status import told
from tests.parity.owners.steps import steps_of, take
from tests.parity.owners.submitters import judged, submitting
from tests.parity.owners.take_over import MADE, WRITES, class_of, collapsed
from tests.parity.replay import moved
from tests.parity.stage import Stage, open_namespace, stage, until
from tests.parity.steps import Step
from tests.parity.swift import SwiftClock

RATE, SLOWER = 2.5, 1.5  # seconds of the case in one of the machine's
SHORT_LIVED = (  # some seconds, and something is over
    "rayjob-active-deadline",
    "rayjob-deletion-rules-failed",
    "rayjob-shutdown-ttl",
    "rayservice-incremental",
)
APART = 0.3  # of the machine's seconds between the beginnings of two cases: all at once would keep each other waiting
QUIET = 2.0  # of the case's seconds: a status write may be held back for one
PATIENCE = 360.0  # of the case's seconds
SETTLED, REST = 20.0, 30.0  # of the case's seconds: until a call to Ray every 10 s is the most, and for how long they are counted then
EDGES = 2  # one more of each of two questions, where the time begins with one and ends with one
AT_REST = {"RayService": 12, "RayJob": 6}  # calls to Ray a minute
MINUTE_BEGAN = 5.0  # seconds ago: the time of a RayCronJob comes in the first long wait
NOTHING = '"target_capacity":0}'
NAMED = Path(__file__).with_name("named_differences.tsv")
SHARED, HELD = "rayjob-cluster-selector", "rayservice-incremental-rollback"


@dataclass
class Outcome:
    """`lines` are the differences after all steps, `writes` what the operator wrote, by step."""

    lines: list[str] = field(default_factory=list)
    writes: list[list[Entry]] = field(default_factory=list)


async def replay_all(names: Iterable[str], directory: Path) -> dict[str, Outcome]:
    """All cases side by side, each in a namespace of its own; operators of different configurations, or paces, have a server each."""
    groups: dict[tuple[str, float], list[str]] = {}
    for name in names:
        groups.setdefault((recording(name).configuration, SLOWER if name in SHORT_LIVED else RATE), []).append(name)
    found: dict[str, Outcome] = {}
    for each in await asyncio.gather(*(replay_group(*key, cases, directory) for key, cases in groups.items())):
        found |= each
    return found


async def replay_group(chosen: str, rate: float, names: list[str], directory: Path) -> dict[str, Outcome]:
    clock, dashboards, known = SwiftClock(rate, time.time() // 60 * 60 + MINUTE_BEGAN), Dashboards(), manners()
    hanging = {namespace_of(name) for name, manner in known.items() if manner.own == "hangs"}
    pending = {namespace_of(name) for name, manner in known.items() if manner.own == "heads stay pending"}

    def judge(pod: Pod) -> Fate:
        stays = pod.metadata.namespace in pending and pod.metadata.label("ray.io/node-type") == "head"
        return Fate("Pending") if stays else judged(pod)

    config, ground = configuration(chosen, directory), embedded_with(lambda: (*crds(), *DEFINITIONS), clock.time)
    async with (
        stage(config, delay=0.1 / rate, clock=clock, on=ground, ray=dashboards, judge=judge) as place,
        submitting(place.client, dashboards.of, clock.time, hanging),
        open_roads(place.client, [namespace_of(HELD)]) as roads,
    ):
        plays = [opened(place, clock, dashboards, roads, recording(name)) for name in names]
        return dict(zip(names, await asyncio.gather(*(replay(play, APART * n) for n, play in enumerate(plays))), strict=True))


def namespace_of(name: str) -> str:
    return f"parity-{name}"


def opened(place: Stage, clock: SwiftClock, dashboards: Dashboards, roads: Roads, case: Recording) -> Play:
    manner = manners().get(case.name, Manner())
    dashboard = Dashboard(clock.time, manner.outcomes, manner.mood, manner.stuck)
    dashboards.of[namespace_of(case.name)] = dashboard
    return Play(place, case, dashboard, clock, roads, moved(case.owner, namespace_of(case.name)))


async def replay(play: Play, delay: float) -> Outcome:
    await asyncio.sleep(delay)
    await open_namespace(play.stage.client, play.namespace)
    if play.case.name == SHARED:
        await share(play)
    outcome = Outcome()
    async with chronicle(play.stage.client, play.resource, play.namespace) as seen:
        for number, step in enumerate((None, *steps_of(play.case.name))):
            await go(play, outcome, number, step, seen)
        await end(play, outcome)
    return outcome


async def share(play: Play) -> None:
    """The RayCluster that stood before the recorded RayJob selected it."""
    spec = recording("rayjob-minimal").owner["spec"]["rayClusterSpec"]
    metadata = {"name": "shared", "namespace": play.namespace}
    await play.stage.apply({"apiVersion": RAYCLUSTERS.api_version, "kind": RAYCLUSTERS.kind, "metadata": metadata, "spec": spec})

    async def ready() -> bool:
        return any((each.get("status") or {}).get("state") == "ready" for each in await play.clusters())

    await until(ready)
    await play.clock.sleep(QUIET)


async def go(play: Play, outcome: Outcome, number: int, step: Step | None, seen: list[tuple[str, Json]]) -> None:
    """One step, until all is as recorded and quiet; else until patience ends."""
    ledger, namespace = play.stage.ledger, play.namespace
    before, acts, mark = len(ledger.of(namespace)), len(play.dashboard.acts), len(seen)
    deadline = play.clock.monotonic() + PATIENCE
    await (take(play, step) if step else apply(play))
    lines: list[str] = []
    state = looked = -1
    since = 0.0

    async def settled() -> bool:
        nonlocal lines, looked, state, since
        before, state = state, len(ledger.by_namespace[namespace]) + len(play.dashboard.acts)
        if state != before:
            since = play.clock.monotonic()
        if play.clock.monotonic() - since < QUIET:
            return False
        if state != looked:
            looked = state
            lines = [*await found(play, number), *acted(play, number, acts)]
        return not unnamed(play.case.name, lines, NAMED) or play.clock.monotonic() > deadline

    try:
        await until(settled, PATIENCE * 2 / play.clock.rate)
    except TimeoutError:
        lines.append(f"step/{number}: never quiet")
    entries = ledger.of(namespace)[before:]
    outcome.writes.append(entries)
    outcome.lines += [*lines, *counted(play, number, entries), *ordered(play, number, entries)]
    outcome.lines += coursed(play, number, seen[max(mark - 1, 0) :])
    outcome.lines += more(f"ray/step{number} acts", len(play.case.acts[number]), len(play.dashboard.acts) - acts)


async def apply(play: Play) -> None:
    play.set_time()
    for obj in (*(moved(each, play.namespace) for each in play.case.input[:-1]), play.owner):
        try:
            await play.stage.apply(obj)
        except Invalid:
            assert obj is play.owner, obj["kind"]


async def found(play: Play, number: int) -> list[str]:
    owner, children = await play.get(), await play.children()
    play.learn([*children, *([{**owner, "kind": play.owner["kind"]}] if owner else [])])
    mine = grouped((play.renamed(each) for each in children), "demo")
    recorded, status = play.case.children[min(number, len(play.case.children) - 1)], play.case.statuses[number]
    lines = list(compared(recorded, {key: paired(recorded.get(key, []), bodies) for key, bodies in mine.items()}))
    if (owner is None) != (status is None):
        return [*lines, f"status/step{number}: recorded {status and 'there'}, rendered {owner and 'there'}"]
    if owner is None:
        return lines
    said = told(play.renamed(owner.get("status") or {}), owner["metadata"]["generation"])
    return lines + [f"status/step{number} {line}" for line in differences(status, said, "")]


def paired(recorded: list[Json], ours: list[Json]) -> list[Json]:
    """In the order of what is most alike: of two clusters nobody says which is which."""
    left, found = list(ours), []
    for each in recorded[: len(ours)]:
        found.append(min(left, key=lambda other: sum(1 for _ in differences(each, other, ""))))
        left.remove(found[-1])
    return [*found, *left]


def acted(play: Play, number: int, mark: int) -> Iterator[str]:
    """The same thing again and again counts once here, and a capacity of nothing that the same cluster has more of at once does not."""
    ours, recorded = (lasting(collapsed(iter(acts))) for acts in (map(play.anonymous, play.dashboard.acts[mark:]), play.case.acts[number]))
    if ours != recorded:
        yield f"ray/step{number}: recorded {recorded}, rendered {ours}"


def lasting(acts: list[str]) -> list[str]:
    return [
        act for act, then in zip(acts, [*acts, ""][1:], strict=True) if not (act.endswith(NOTHING) and act.split()[:2] == then.split()[:2])
    ]


def counted(play: Play, number: int, entries: list[Entry]) -> Iterator[str]:
    """Ours are never to be more. What was gone by then is not written to: on a busy machine we may hear of that late."""
    counts = dict.fromkeys(WRITES, 0)
    for entry in entries:
        if entry.resource != "events" and entry.code != 404:
            counts[class_of(entry.resource, entry.subresource == "status", entry.verb == "patch", play.resource.plural)] += 1
    recorded = play.case.writes[number] if number < len(play.case.writes) else dict.fromkeys(counts, 0)
    del counts["clusters"]  # those of RayClusters are counted with their own recordings
    for kind, ours in counts.items():
        yield from more(f"writes/step{number} {kind}", recorded[kind], ours)


def more(what: str, recorded: int, ours: int) -> Iterator[str]:
    if ours > recorded:
        yield f"{what}: recorded {recorded}, rendered {ours}"


def ordered(play: Play, number: int, entries: list[Entry]) -> Iterator[str]:
    """Of what is made and removed for the object itself."""
    words = (
        f"{each.verb} {each.resource}"
        for each in entries
        if each.verb in ("create", "delete") and each.resource in MADE and each.code < 300
        if not (each.resource == "services" and "-rrrrr-" in play.anonymous(each.name))
    )
    ours, recorded = collapsed(words), play.case.order[number] if number < len(play.case.order) else []
    if ours != recorded:
        yield f"order/step{number}: recorded {recorded}, rendered {ours}"


def coursed(play: Play, number: int, seen: list[tuple[str, Json]]) -> Iterator[str]:
    """Of `jobDeploymentStatus`; the first one seen is from before the step."""
    states = collapsed((obj.get("status") or {}).get("jobDeploymentStatus", "") for kind, obj in seen if kind != "DELETED")
    ours = [each for each in (states[1:] if number else states) if each]
    recorded = collapsed(iter(play.case.course[number] if number < len(play.case.course) else []))
    if ours != recorded:
        yield f"course/step{number}: recorded {recorded}, rendered {ours}"


async def end(play: Play, outcome: Outcome) -> None:
    """Events of the whole case; and what is written and asked while nothing happens. A creation that is refused again is no write."""
    ledger, namespace = play.stage.ledger, play.namespace
    noise = sum(each.resource == "events" for each in ledger.of(namespace))
    outcome.lines += [*more("events/all", play.case.noise, noise), *told_events(play.case.events, await play.events())]
    if play.owner["kind"] not in AT_REST:
        return
    await play.clock.sleep(SETTLED)
    before, asked, since = len(ledger.of(namespace)), play.dashboard.gets, play.clock.monotonic()
    await play.clock.sleep(REST)
    outcome.writes.append([each for each in ledger.of(namespace)[before:] if each.code < 400])
    outcome.lines += more("writes/rest", 0, len(outcome.writes[-1]))
    most = int(AT_REST[play.owner["kind"]] * (play.clock.monotonic() - since) / 60) + EDGES
    outcome.lines += more("ray/rest questions", most, play.dashboard.gets - asked)


def told_events(recorded: list[str], ours: list[str]) -> Iterator[str]:
    for each in sorted({*recorded, *ours}):
        if (each in recorded) != (each in ours):
            yield f"events/{each}: recorded {recorded.count(each)}, rendered {ours.count(each)}"
