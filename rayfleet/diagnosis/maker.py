"""An object that has Ray clusters made for it, or jobs: what was read of it, and what is said of every such kind alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.fault import Fault
from rayfleet.api.meta import JOBS, Condition, ObjectMeta
from rayfleet.diagnosis.diagnose import IS_IT_RUNNING, PATIENCE
from rayfleet.diagnosis.finding import Diagnosis, Finding, Step, clipped
from rayfleet.diagnosis.refusals import FAULTS, OTHER, RECENT, event_step, meaning
from rayfleet.diagnosis.situation import Told
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.conditions import find


class Maker(msgspec.Struct, frozen=True):
    """`object` is a RayService, RayJob or RayCronJob, or one of them that cannot be decoded. `clusters` are the diagnoses of its clusters,
    `jobs` its RayJobs, `submitter` what is wrong with the Pods that submit. `faults` is what the operator would refuse, `due` the time of
    a job that was to be made by now and was not, `following` that of the next one. `now` is in seconds since 1970."""

    object: Any
    now: float
    clusters: tuple[Diagnosis, ...] = ()
    jobs: tuple[Any, ...] = ()
    submitter: tuple[Finding, ...] = ()
    events: tuple[Told, ...] = ()
    faults: tuple[Fault, ...] = ()
    due: str = ""
    following: str = ""
    unread: tuple[str, ...] = ()

    @property
    def metadata(self) -> ObjectMeta:
        found: ObjectMeta = self.object.metadata
        return found

    @property
    def kind(self) -> str:
        return str(self.object.kind).lower()

    @property
    def place(self) -> tuple[str]:
        return (f"{self.kind}/{self.metadata.name}",)

    def age(self, time: str | None) -> float:
        """Seconds since a time; 0 for none."""
        return self.now - parse_rfc3339(time) if time else 0.0

    def cluster(self, name: str) -> Diagnosis | None:
        return next((each for each in self.clusters if each.name == name), None)


def invalid(maker: Maker, told: str, first: Step | None = None) -> Finding:
    """`told` are the faults in the operator's words."""
    steps = (Step("spec", clipped(fault)) for fault in FAULTS.split(told))
    return Finding(
        "InvalidSpec",
        "The spec is refused; what runs is left alone, and nothing is done until the spec changes.",
        maker.place,
        (*([first] if first else []), *steps),
        ("correct the fields named above and apply the file again", "rayfleet plan -f FILE tells beforehand"),
    )


def undecodable(maker: Maker) -> Iterator[Finding]:
    """The object is not of its kind's form, which an API server with another schema lets pass."""
    faults = getattr(maker.object, "faults", ())
    if faults:
        yield invalid(maker, "; ".join(map(str, faults)))


def unseen(maker: Maker, observed: int, blank: bool) -> Iterator[Finding]:
    """Nobody has acted on the object as it is now. `observed` is the generation that its status tells of, 0 for none."""
    meta = maker.metadata
    if maker.age(meta.creation_timestamp) < PATIENCE:
        return
    if blank:
        why = (Step("object", f"created at {meta.creation_timestamp}, and its status is empty"),)
        yield Finding("NoOperator", f"No operator has looked at the {maker.object.kind}.", maker.place, why, IS_IT_RUNNING)
    elif observed and observed < meta.generation:
        why = (Step("object", f"generation {meta.generation}, observedGeneration {observed}"),)
        yield Finding("NoOperator", "No operator has looked at the last change of the spec.", maker.place, why, IS_IT_RUNNING)


def held_back(maker: Maker) -> Iterator[Finding]:
    """A deletion that does not come to its end."""
    meta = maker.metadata
    if not meta.deletion_timestamp or maker.age(meta.deletion_timestamp) < PATIENCE or not meta.finalizers:
        return
    why = (Step("object", f"deleted at {meta.deletion_timestamp}; finalizers: {', '.join(meta.finalizers)}"),)
    advice = ("is the operator running? it takes its own finalizer away when what it made is gone", *IS_IT_RUNNING)
    yield Finding("StuckDeleting", f"The {maker.object.kind} is being deleted, and a finalizer holds it back.", maker.place, why, advice)


def refused(maker: Maker) -> Iterator[Finding]:
    """What the API server lately did not take, in its own words."""
    seen = set()
    for event in sorted(maker.events, key=lambda each: each.time, reverse=True):
        if not tells_refusal(maker, event) or maker.age(event.time) > RECENT:
            continue
        refusal, it = meaning(event.note)
        if refusal is OTHER and event.reason == "NameConflict":
            yield conflict(maker, event)
        elif (refusal.problem, it) not in seen:
            seen.add((refusal.problem, it))
            seen_as = refusal.seen.format(it=it).replace("the cluster", "it")
            yield Finding(refusal.problem, seen_as, maker.place, (event_step(event),), tuple(line.format(it=it) for line in refusal.advice))


def tells_refusal(maker: Maker, event: Told) -> bool:
    """Of an object that the operator makes for it, or of the Pod that Kubernetes makes for its submitter's Job?"""
    if event.about[0] == JOBS.kind:
        return event.reason == "FailedCreate"
    of_interest = event.reason.startswith("FailedTo") or event.reason in ("NameConflict", "NamespaceTerminating")
    return of_interest and event.about[0] == maker.object.kind


def conflict(maker: Maker, event: Told) -> Finding:
    advice = ("delete or rename that object, or give this one another name; the rest follows by itself",)
    return Finding(
        "NameConflict",
        "An object of a name that it needs belongs to somebody else, and is left alone.",
        maker.place,
        (event_step(event),),
        advice,
    )


def of_clusters(maker: Maker, *names: str) -> Iterator[Finding]:
    """What is wrong with its clusters, as `explain raycluster/NAME` would say it."""
    for name in names:
        cluster = maker.cluster(name)
        if cluster is not None:
            yield from cluster.findings


def condition(conditions: tuple[Condition, ...], word: str, status: str) -> Condition | None:
    """The condition, if it has this status."""
    found = find(conditions, word)
    return found if found is not None and found.status == status else None


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return clipped(lines[-1]) if lines else ""
