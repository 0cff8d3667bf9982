"""Runs the whole test suite in parts, and prints each part's share of the time. Those that wait for real processes run beside the others.

usage: python tests/run_parts.py [PART...]      exit code 1 if any part fails; all parts are run whatever fails
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTEST = [sys.executable, "-m", "pytest", "--durations=3"]
STORMS = [sys.executable, "-m", "rayfleet.sim.many"]
PURE = [
    "rayfleet/api",
    "rayfleet/planning",
    "rayfleet/resources",
    "rayfleet/raycluster",
    "rayfleet/rayjob",
    "rayfleet/raycronjob",
    "rayfleet/rayservice",
    "rayfleet/legacy",
    "rayfleet/diagnosis",
    "rayfleet/ray/answer.py",
    "rayfleet/ray/jobs.py",
    "rayfleet/ray/serve.py",
    "rayfleet/autoscaling",
]

PARTS: dict[str, list[list[str]]] = {
    "lint": [
        [str(BIN / "ruff"), "check", "rayfleet", "tests", "bench", "testbed", "deploy"],
        [str(BIN / "ruff"), "format", "--check", "--quiet", "rayfleet", "tests", "bench", "testbed", "deploy"],
        [str(BIN / "lint-imports")],
        [str(BIN / "mypy"), "--strict", *PURE],
    ],
    "decisions": [
        [
            *PYTEST,
            "tests/api",
            "tests/ray",
            "tests/planning",
            "tests/resources",
            "tests/raycluster",
            "tests/rayjob",
            "tests/raycronjob",
            "tests/rayservice",
            "tests/legacy",
            "tests/diagnosis",
            "tests/autoscaling",
            "tests/house",
            "tests/docs",
        ]
    ],
    "simulator": [
        [*PYTEST, "tests/sim"],
        [*STORMS, "1500", "250", "11112", "clusters"],
        [*STORMS, "700", "1000", "11112", "jobs"],
        [*STORMS, "180", "4000", "1112", "services"],
        [*STORMS, "120", "100", "1112", "cronjobs"],
    ],
    "client and runtime": [[*PYTEST, "tests/kube", "tests/runtime", "-m", "not testbed"]],
    "embedded API": [[*PYTEST, "tests/apiserver", "tests/conformance", "-m", "not testbed"]],
    "parity": [[*PYTEST, "tests/parity", "tests/gateway", "-m", "not testbed"]],
    "kubelet": [[*PYTEST, "tests/kubelet", "-m", "not ray and not testbed"]],
    "fleet and commands": [[*PYTEST, "tests/local", "tests/cli", "-m", "not ray and not testbed"]],
    "Kubernetes": [
        [*PYTEST, "tests", "-m", "testbed and not ray", "--ignore=tests/conformance"],
        [*PYTEST, "tests/conformance", "-m", "testbed"],  # a control plane of its own: some cases leave definitions that are never served
    ],
    "real Ray": [[*PYTEST, "tests", "-m", "ray"]],
}


# These start real processes, whose pace is the machine's. A few failures there are looked at once more, alone, and told as flaky.
REAL = frozenset(PARTS) - {"lint", "simulator"}
FEW = 3
SIDE_BY_SIDE = frozenset({"simulator"})  # pure computation: its commands share the processors
ASIDE = ("real Ray",)  # it waits more than it works, and takes as long as all the others: it runs beside them


class Result(NamedTuple):
    fine: bool
    passed: int
    failed: int
    flaky: int


def run(part: str) -> Result:
    """All commands of a part."""
    fine, passed, failed, flaky = True, 0, 0, 0
    with ThreadPoolExecutor(None if part in SIDE_BY_SIDE else 1) as pool:
        outcomes = list(pool.map(partial(execute, part), PARTS[part]))
    for command, (code, output) in zip(PARTS[part], outcomes, strict=True):
        good, bad = counted(output, "passed"), counted(output, "failed") + counted(output, "errors?")
        if code and part in REAL and 0 < bad <= FEW:
            code, output = execute(f"{part}: the failed once more, alone", [*command, "--last-failed"])
            again = counted(output, "failed") + counted(output, "errors?") if code else 0
            good, bad, flaky = good + bad - again, again, flaky + bad - again
        fine, passed, failed = fine and code == 0, passed + good, failed + bad
    return Result(fine, passed, failed, flaky)


def run_all(parts: list[str]) -> dict[str, tuple[Result, float]]:
    """One part after the other; what became of each, and its seconds."""
    shares = {}
    for part in parts:
        began = time.monotonic()
        shares[part] = (run(part), time.monotonic() - began)
    return shares


def execute(title: str, command: list[str]) -> tuple[int, str]:
    """Exit code and output; the output is shown as well, in one piece. Each part remembers its own failures."""
    if command[: len(PYTEST)] == PYTEST:
        command = [*command, "-o", f"cache_dir=.pytest_cache/{title.partition(':')[0]}"]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(f"== {title}\n{process.stdout}", flush=True)
    return process.returncode, process.stdout


def counted(output: str, word: str) -> int:
    """The last count of the word in pytest's closing line."""
    found = re.findall(rf"(\d+) {word}\b", output)
    return int(found[-1]) if found else 0


def main() -> int:
    chosen = sys.argv[1:] or list(PARTS)
    began = time.monotonic()
    lanes = [[part for part in chosen if part not in ASIDE], [part for part in chosen if part in ASIDE]]
    shares: dict[str, tuple[Result, float]] = {}
    with ThreadPoolExecutor(len(lanes)) as pool:
        for lane in pool.map(run_all, lanes):
            shares |= lane
    total = sum(seconds for _, seconds in shares.values())
    print("== shares")
    for part, (result, seconds) in shares.items():
        flaky = f"  {result.flaky} flaky" if result.flaky else ""
        print(f"{'ok  ' if result.fine else 'FAIL'} {part:20} {seconds:7.1f} s  {100 * seconds / total:3.0f} %{flaky}")
    broken = sum(not result.fine for result, _ in shares.values())
    failed = max(sum(result.failed for result, _ in shares.values()), broken)
    print(f"     {'all parts':20} {total:7.1f} s, in {time.monotonic() - began:.1f} s")
    print(f"{sum(result.passed for result, _ in shares.values())} passed, {failed} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
