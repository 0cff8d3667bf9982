"""Makes recorded/ and standing/ anew from the recordings of the peer.

usage: python -m tests.parity.take_over DIRECTORY      where each case is a directory with input.yaml, creates.json, children.stepN.json ...
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.parity.canonical import Json
from tests.parity.compare import Groups, grouped
from tests.parity.recording import DIRECTORY
from tests.parity.standing import DIRECTORY as STANDING
from tests.parity.status import told

CONFIGURATIONS = {"operator-env-switches": "env", "operator-config-sidecars": "config", "operator-env2-random-delete": "env2"}
GATED = ("mtls", "network-policy", "history-server", "rocksdb")


def main() -> None:
    source = Path(sys.argv[1])
    chosen = [path for path in sorted(source.iterdir()) if path.name.startswith("raycluster-") or path.name in CONFIGURATIONS]
    for case in chosen:
        (DIRECTORY / f"{case.name}.json").write_text(lines(taken(case)))
        (STANDING / f"{case.name}.json").write_text(lines(stood(case)))


def taken(case: Path) -> dict[str, Any]:
    pool = Pool()
    files = sorted(case.glob("children.step*.json"), key=lambda path: int(re.findall(r"\d+", path.name)[-1])) or [case / "children.json"]
    children = [grouped(map(known, json.loads(file.read_text())), "demo") for file in files]
    sent = [known(entry["body"]) for entry in json.loads((case / "creates.json").read_text()) if entry["body"]["kind"] != "Event"]
    return {
        "configuration": "gates" if any(word in case.name for word in GATED) else CONFIGURATIONS.get(case.name, "default"),
        "input": [each for each in yaml.safe_load_all((case / "input.yaml").read_text()) if each],
        "objects": pool.objects,
        "creates": pool.add(grouped(first_of_each(sent, children[0]), "demo")),
        "children": [pool.add(groups) for groups in children],
        "statuses": [status(found) for found in json.loads((case / "status.json").read_text()).values()],
        "jobs": pool.add(grouped((body for body in sent if body["kind"] == "Job"), "demo")),
        "writes": writes((case / "writes.txt").read_text()),
        "events": events((case / "events.txt").read_text()),
    }


def stood(case: Path) -> dict[str, Any]:
    """Whole objects by step, None where the cluster is gone: see `standing`."""
    pool = Pool()
    steps: list[Any] = []
    children: list[Json] = []
    for name, found in json.loads((case / "status.json").read_text()).items():
        file = case / f"children.{name}.json"
        children = json.loads((file if file.exists() else case / "children.json").read_text())
        kept = {**found, "children": [pool.place(each) for each in children]}
        steps.append(kept if found["metadata"] is not None else None)
    return {"objects": pool.objects, "steps": steps}


def known(body: Json) -> Json:
    """Random parts of names are all alike."""
    found: Json = json.loads(re.sub(r"<rand\d*>", "rrrrr", json.dumps(body)))
    return found


def first_of_each(sent: Iterable[Json], alive: Groups) -> list[Json]:
    """What was sent for the input: of each kind and name as many as stood after step 0."""
    found: list[Json] = []
    left = {key: len(bodies) for key, bodies in alive.items()}
    for body in sent:
        key = next(iter(grouped([body], "demo")))
        if left.get(key, 0) > 0:
            left[key] -= 1
            found.append(body)
    return found


class Pool:
    """Each distinct object once."""

    def __init__(self) -> None:
        self.objects: list[Json] = []

    def add(self, groups: Groups) -> dict[str, list[int]]:
        return {key: [self.place(body) for body in bodies] for key, bodies in groups.items()}

    def place(self, body: Json) -> int:
        if body not in self.objects:
            self.objects.append(body)
        return self.objects.index(body)


def status(found: Json) -> Json | None:
    if found["metadata"] is None:
        return None
    return told(found.get("status") or {}, found["metadata"]["generation"])


def writes(text: str) -> list[dict[str, int]]:
    """Status writes and others by step, refused ones too."""
    counts: list[dict[str, int]] = []
    for line in text.splitlines():
        if line.startswith("# step"):
            counts.append({"status": 0, "other": 0})
        elif re.match(r"[A-Z]+ [a-z]", line) and counts:
            kind = "status" if "/status " in line.split(" -> ")[0] else "other"
            counts[-1][kind] += times(line)
    return counts


def times(line: str) -> int:
    found = re.search(r"\(x(\d+)\)\s*$", line)
    return int(found[1]) if found else 1


def events(text: str) -> int:
    """Event writes: the second of a series is written, later ones are only counted."""
    return sum(2 if re.search(r"\(series x\d+\)\s*$", line) else times(line) for line in text.splitlines() if line)


def lines(case: dict[str, Any]) -> str:
    """JSON with a line for each part, and for each object."""
    parts = []
    for key, value in case.items():
        rows = [json.dumps(row, sort_keys=True, separators=(",", ":")) for row in value] if isinstance(value, list) else None
        text = "[\n" + ",\n".join(rows) + "\n]" if rows else json.dumps(value, sort_keys=True, separators=(",", ":"))
        parts.append(f'"{key}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
