"""Pods that were broken and are gone: the operator has replaced them, and only Events still tell of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rayfleet.diagnosis.finding import Finding, Step
from rayfleet.diagnosis.refusals import event_step
from rayfleet.diagnosis.situation import Situation, Told

WITHIN = 1800.0  # seconds for which a replacement is told
SHOWN = 2
BROKEN = ("it has failed", "its Ray container has ended")
NAMES = re.compile(r"[a-z0-9-]+-(?:head|worker)-[a-z0-9]{5}\b")
GROUP = re.compile(r"of group (\S+)")
KINDS = (("DeletedHeadPod", "HeadReplaced"), ("DeletedWorkerPod", "WorkersReplaced"))
AGAINST = (
    ("Evicted", "set memory requests as high as the limits, so that the Pod is the last to be evicted"),
    ("exit code 137", "exit code 137 is SIGKILL, mostly for memory: raise the memory limit, or run fewer tasks there"),
    ("OOMKilled", "raise the memory limit, or run fewer tasks there (on the head num-cpus: '0' in rayStartParams)"),
    ("Preempt", "give the Pod a PriorityClass, so that others do not displace it"),
)
OTHERWISE = "look at the node, and at the log of the next one while it lives: rayfleet logs POD -f"


def replaced(situation: Situation) -> Iterator[Finding]:
    """By groups: the head, then the workers of each."""
    for reason, problem in KINDS:
        told = situation.about("RayCluster", situation.cluster.metadata.name, reason)
        recent = [event for event in told if any(word in event.note for word in BROKEN) and situation.age(event.time) < WITHIN]
        for group in sorted({group_of(event) for event in recent}):
            yield finding(situation, problem, group, [event for event in recent if group_of(event) == group])


def group_of(event: Told) -> str:
    found = GROUP.search(event.note)
    return found[1] if found else ""


def gone(note: str) -> list[str]:
    """Names of the Pods that a note tells of."""
    return NAMES.findall(note.partition(": ")[0])


def finding(situation: Situation, problem: str, group: str, events: list[Told]) -> Finding:
    times = sum(event.count * max(1, len(gone(event.note))) for event in events)
    often = f"{times} times" if times > 1 else "once"
    who = f"Workers of group {group} were" if group else "The head Pod was"
    seen = f"{who} replaced {often} in the last {WITHIN / 60:.0f} minutes, having failed."
    steps: list[Step] = []
    for event in events[:SHOWN]:
        steps.append(event_step(event))
        warnings = [each for name in gone(event.note) for each in situation.about("Pod", name) if each.type == "Warning"]
        steps += [event_step(each) for each in warnings[:1]]
    text = " ".join(step.says for step in steps)
    advice = tuple(line for word, line in AGAINST if word in text) or (OTHERWISE,)
    return Finding(problem, seen, (f"raycluster/{situation.cluster.metadata.name}",), tuple(steps), advice)
