"""Makes recorded/ anew from the recordings of the peer.

usage: python -m tests.parity.owners.take_over DIRECTORY      where each case is a directory with input.yaml, writes.txt, dashboard.txt ...
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.parity.canonical import Json
from tests.parity.compare import grouped
from tests.parity.owners.recording import DIRECTORY
from tests.parity.owners.status import told
from tests.parity.take_over import Pool, events, known, lines, stood, times

PREFIXES = ("rayservice-", "rayjob-", "raycronjob-")
STANDING = DIRECTORY.with_name("standing")
OTHERS = ("operator-env2-no-zero-downtime",)
WRITES = ("own", "clusters", "marks", "other")
RAY = ("rayservices", "rayjobs", "raycronjobs", "rayclusters")
MADE = ("rayclusters", "jobs", "rayjobs", "services", "gateways", "httproutes")


def main() -> None:
    source = Path(sys.argv[1])
    operators = {each["case"]: each["operator"] for each in json.loads((source / "index.json").read_text())}
    for case in sorted(source.iterdir()):
        if case.name.startswith(PREFIXES) or case.name in OTHERS:
            (DIRECTORY / f"{case.name}.json").write_text(lines(taken(case, operators[case.name])))
            (STANDING / f"{case.name}.json").write_text(lines(standing(case)))


def taken(case: Path, configuration: str) -> dict[str, Any]:
    pool = Pool()
    files = sorted(case.glob("children.step*.json"), key=lambda path: int(re.findall(r"\d+", path.name)[-1])) or [case / "children.json"]
    inputs = [each for each in yaml.safe_load_all((case / "input.yaml").read_text()) if each]
    kind, name = inputs[-1]["kind"], inputs[-1]["metadata"]["name"]
    written = list(by_step(case / "writes.txt"))
    calls = list(by_step(case / "dashboard.txt")) or [[] for _ in written]
    told_events = (case / "events.txt").read_text()
    told_clusters: dict[str, str] = {}
    return {
        "configuration": configuration,
        "input": inputs,
        "objects": pool.objects,
        "children": [pool.add(grouped((anonymous(each, name) for each in json.loads(file.read_text())), "demo")) for file in files],
        "statuses": [status(found) for found in json.loads((case / "status.json").read_text()).values()],
        "writes": [writes(step, kind) for step in written],
        "acts": [list(acts(step, told_clusters)) for step in calls],
        "order": [collapsed(order(step, name)) for step in written],
        "course": [list(course(step)) for step in written],
        "events": sorted({" ".join(line.split()[:2]) for line in told_events.splitlines() if f" {kind}/{name} " in line}),
        "noise": events(told_events),
    }


def standing(case: Path) -> dict[str, Any]:
    """Whole objects by step, and which Serve config each cluster was told last."""
    found, told_last = stood(case), {}
    calls = list(by_step(case / "dashboard.txt"))
    for number, state in enumerate(found["steps"]):
        told_last |= dict(configs(calls[number])) if number < len(calls) else {}
        if state is not None:
            state["serve"] = dict(told_last)
    return found


def configs(step: list[str]) -> Iterator[tuple[str, Json]]:
    for line, following in zip(step, [*step, ""][1:], strict=True):
        if told_cluster := re.match(r"PUT (\S+)-head-svc:\d+ ", line):
            yield told_cluster[1], json.loads(following.strip().removeprefix("body "))


def anonymous(obj: Json, owner: str) -> Json:
    return known(json.loads(shortened(json.dumps(obj), owner)))


def shortened(text: str, owner: str) -> str:
    """Of the random end of a long cluster's name two letters are left in the names of its Pods."""
    return re.sub(rf"\b{re.escape(owner)}-[a-z0-9]{{2}}-(head|worker)\b", rf"{owner}-rr-\1", text)


def by_step(file: Path) -> Iterator[list[str]]:
    """The lines of each step."""
    found: list[str] | None = None
    for line in file.read_text().splitlines() if file.exists() else ():
        if line.startswith("# step"):
            if found is not None:
                yield found
            found = []
        elif found is not None:
            found.append(re.sub(r"<rand\d*>", "rrrrr", line) if not re.match(r"[A-Z]+ \S+:\d+ ", line) else line)
    if found is not None:
        yield found


def status(found: Json) -> Json | None:
    if found["metadata"] is None:
        return None
    text = re.sub(r"<rand\d*>", "rrrrr", json.dumps(found.get("status") or {}))
    return told(json.loads(text), found["metadata"]["generation"])


def writes(step: list[str], kind: str) -> dict[str, int]:
    """Refused ones too."""
    counts = dict.fromkeys(WRITES, 0)
    for line in step:
        if found := re.match(r"([A-Z]+) ([a-z]+)(/status)? ", line):
            counts[class_of(found[2], bool(found[3]), found[1] == "UPDATE", f"{kind.lower()}s")] += times(line)
    return counts


def class_of(resource: str, status: bool, changed: bool, own: str) -> str:
    """Whether a write is one of those that are counted apart."""
    if status and resource in (own, "rayclusters"):
        return "own" if resource == own else "clusters"
    return "marks" if changed and resource in RAY else "other"


def acts(step: list[str], clusters: dict[str, str]) -> Iterator[str]:
    for line, following in zip(step, [*step, ""][1:], strict=True):
        if found := re.match(r"(PUT|POST|DELETE) (\S+):\d+ (\S+) -> \d+", line):
            host = clusters.setdefault(found[2], str(len(clusters) + 1))
            body = following.strip().removeprefix("body ") if following.strip().startswith("body ") else ""
            yield re.sub(r"<rand\d*>", "rrrrr", f"{found[1]} {host} {found[3]} {body}".strip())


def order(step: list[str], owner: str) -> Iterator[str]:
    """What was made and removed for the object itself: what is made for a cluster belongs to the cluster."""
    for line in step:
        if found := re.match(r"(CREATE|DELETE) (\w+) (\S+) -> 2", line):
            verb, resource, name = found.groups()
            if resource in MADE and name.startswith(owner) and not (resource == "services" and "-rrrrr-" in name):
                yield f"{verb.lower()} {resource}"


def collapsed(words: Iterator[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if found[-1:] != [word]:
            found.append(word)
    return found


def course(step: list[str]) -> Iterator[str]:
    for line in step:
        if found := re.search(r'"jobDeploymentStatus": "(\w+)"|status\.jobDeploymentStatus: .* -> "(\w+)"$', line):
            yield found[1] or found[2]


if __name__ == "__main__":
    main()
