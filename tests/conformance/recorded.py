"""What the real server answered, normalised, in recorded/TOPIC.json.

`python -m tests.conformance.recorded [TOPIC or CASE...]` asks it again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from testbed.control_plane import ControlPlane
from tests.conformance.case import Case
from tests.conformance.cases import CASES, TOPICS
from tests.conformance.normal import Normal
from tests.conformance.peer import Answer, Peer
from tests.conformance.servers import real

KUBERNETES = "v1.37.2"
PLACE = Path(__file__).parent / "recorded"


@cache
def recorded(topic: str) -> dict[str, list[Answer]]:
    file = PLACE / f"{topic}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def normal_answers(peer: Peer, case: Case) -> list[Answer]:
    normal = Normal()
    return [normal.answer(answer) for answer in peer.run(case)]


class Answers:
    """What one server answers; it is asked once for each case."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._known: dict[str, list[Answer]] = {}

    def of(self, case: Case) -> list[Answer]:
        if case.name not in self._known:
            self._known[case.name] = normal_answers(self._peer, case)
        return self._known[case.name]


def write(topic: str, answers: dict[str, list[Answer]]) -> None:
    """One answer a line: so that a difference between two versions of Kubernetes can be read."""
    blocks = []
    for name, each in answers.items():
        lines = ",\n  ".join(json.dumps(answer, ensure_ascii=False, sort_keys=True, separators=(",", ":")) for answer in each)
        blocks.append(f'"{name}": [\n  {lines}\n]')
    PLACE.mkdir(exist_ok=True)
    (PLACE / f"{topic}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def record(wanted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        plane = ControlPlane(Path(directory)).start()
        peer = real(plane)
        for topic, cases in TOPICS.items():
            answers: dict[str, Any] = {}
            for case in cases:
                known = recorded(topic).get(case.name)
                if known is not None and wanted and not {topic, case.name} & set(wanted):
                    answers[case.name] = known
                    continue
                try:
                    answers[case.name] = normal_answers(peer, case)
                except AssertionError as failure:
                    print(topic, case.name, str(failure)[:1500], flush=True)
            write(topic, answers)
        plane.stop()


if __name__ == "__main__":
    record([word for word in sys.argv[1:] if word in TOPICS or word in CASES])
