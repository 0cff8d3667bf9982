"""For people: `python -m tests.conformance.look [TOPIC or CASE...]` prints every difference of the embedded API that is not on purpose."""

from __future__ import annotations

import json
import sys

from tests.conformance.cases import CASES
from tests.conformance.paths import differences
from tests.conformance.purpose import covered
from tests.conformance.recorded import normal_answers, recorded
from tests.conformance.servers import embedded


def main(wanted: list[str]) -> None:
    bad = 0
    with embedded() as peer:
        for name, (topic, case) in CASES.items():
            if wanted and name not in wanted and topic not in wanted:
                continue
            lines = []
            try:
                found: object = normal_answers(peer, case)
            except Exception as failure:
                found = [f"{type(failure).__name__}: {failure}"[:600]]
            for path, a, b in differences(recorded(topic).get(name, []), found):
                if not covered(name, path):
                    lines.append(f"  {path}\n     real {json.dumps(a)[:700]}\n     ours {json.dumps(b)[:700]}")
            bad += bool(lines)
            if lines:
                print(f"== {topic} / {name}", *lines, sep="\n", flush=True)
    print(f"{bad} cases differ")


if __name__ == "__main__":
    main(sys.argv[1:])
