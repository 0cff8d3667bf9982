"""The local fleet: how long `up` takes to a Ready head and worker, and what the operator costs with two clusters at rest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figure import show
from bench.process import cpu_of, memory_of

REST = 60.0
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def fleet(state: Path, *words: str) -> str:
    command = [sys.executable, "-m", "rayfleet", *words, "--state", str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def operator(state: Path) -> int:
    """The operator's pid, on the host's side."""
    processes: list[dict[str, Any]] = json.loads(fleet(state, "status", "-o", "json"))["processes"]
    return next(int(each["pid"]) for each in processes if each["process"] == "operator")


def requests(pid: int) -> float:
    """Requests that the operator has sent, by its own metrics, without watches and the lease."""
    script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    inside = ["nsenter", "-t", str(pid), "-n", sys.executable, "-c", script]
    text = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if line.startswith("rayfleet_requests_total") and 'verb="watch"' not in line]
    return sum(float(re.split(r"\s+", line)[-1]) for line in lines)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        for round_ in ("cold", "warm"):
            state = Path(directory) / round_
            began = time.monotonic()
            try:
                fleet(state, "up", "-f", str(EXAMPLES / "minimal.yaml"))
                show(f"`up` to a Ready head and worker, {round_}", time.monotonic() - began, 15 if round_ == "warm" else 0, "s")
            finally:
                fleet(state, "down", "--delete-data")
        state = Path(directory) / "two"
        try:
            fleet(state, "up", "-f", str(EXAMPLES / "two-clusters.yaml"))
            measure_rest(operator(state))
        finally:
            fleet(state, "down", "--delete-data")


def measure_rest(pid: int) -> None:
    time.sleep(5.0)
    cpu, sent = cpu_of(pid), requests(pid)
    time.sleep(REST)
    show("operator with two clusters: resident memory", memory_of(pid), 60, "MB")
    show(f"operator at rest: requests in {REST:g} s", requests(pid) - sent, 0, "")
    show("operator at rest: CPU", 100 * (cpu_of(pid) - cpu) / REST, 0.5, "%")


if __name__ == "__main__":
    main()
