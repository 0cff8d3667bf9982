"""What a diagnosis comes to."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

LONGEST_TEXT = 400


class Step(msgspec.Struct, frozen=True):
    """One link of the chain: `source` is condition, status, spec, pod, event, log, object, serve or ray, `says` in its own words."""

    source: str
    says: str


class Finding(msgspec.Struct, frozen=True, rename={"advice": "try"}):
    """`problem` is one word for programs, `seen` the sentence for people, `where` the objects that it is true of (`pod/NAME`)."""

    problem: str
    seen: str
    where: tuple[str, ...]
    why: tuple[Step, ...] = ()
    advice: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True):
    """`state` is one of ready, starting, suspended, refused, deleting, broken, and of a job also waiting, running, retrying, succeeded,
    stopped, failed; `healthy` when nothing is wrong."""

    namespace: str
    name: str
    state: str
    summary: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "raycluster"

    @property
    def healthy(self) -> bool:
        return not self.findings


def clipped(text: str) -> str:
    """One line, not too long to be read."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 3]}..."


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is true of several objects is told once, with the chain of the first."""
    together: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        known = together.get((finding.problem, finding.seen))
        if known is None:
            together[finding.problem, finding.seen] = finding
        else:
            where = (*known.where, *(each for each in finding.where if each not in known.where))
            together[finding.problem, finding.seen] = msgspec.structs.replace(known, where=where)
    return tuple(together.values())
