"""The local fleet: how long `up` takes to a Ready head and worker, and what the operator costs with two clusters at rest.

With `--users N`: a head N times as root and N times as an ordinary user, in turn.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from bench.figure import show
from bench.process import cpu_of, memory_of
from rayfleet.local.state import State
from tests.local.fleet import CLUSTERS, Fleet, is_ready
from tests.local.ordinary import ordinary_user
from tests.local.waiting import eventually

REST = 60.0
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def fleet(state: Path, *words: str) -> str:
    command = [sys.executable, "-m", "rayfleet", *words, "--state", str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def process(state: Path, name: str) -> int:
    """The pid of one of the fleet's own processes, on the host's side."""
    processes: list[dict[str, Any]] = json.loads(fleet(state, "status", "-o", "json"))["processes"]
    return next(int(each["pid"]) for each in processes if each["process"] == name)


def requests(pid: int) -> float:
    """Requests that the operator has sent, by its own metrics, without watches and the lease."""
    script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    inside = ["nsenter", "-t", str(pid), "-n", sys.executable, "-c", script]
    text = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if line.startswith("rayfleet_requests_total") and 'verb="watch"' not in line]
    return sum(float(re.split(r"\s+", line)[-1]) for line in lines)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench laptop")
    parser.add_argument("--users", type=int, metavar="N", help="compare N heads of root with N of an ordinary user, and nothing else")
    rounds = parser.parse_args(words).users
    if rounds:
        compare_users(rounds)
    else:
        measure_one_user()


def compare_users(rounds: int) -> None:
    """In turn, as a machine is not equally fast all the time; what the first heads take, which warm it, does not count."""
    with ordinary_user() as user, tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        fleets = {"root": Fleet(State(Path(directory) / "fleet")), "an ordinary user": Fleet(user.state, user=user)}
        taken: dict[str, list[float]] = {who: [] for who in fleets}
        for number in range(rounds + 1):
            for who, fleet in sorted(fleets.items(), reverse=bool(number % 2)):
                fleet.up()
                try:
                    taken[who] += [head_ready(fleet)] * bool(number)
                finally:
                    fleet.run("down", "--delete-data")
    medians = {who: statistics.median(seconds) for who, seconds in taken.items()}
    for who, median in medians.items():
        show(f"a head from created to Ready, {who}, median of {rounds}", median, 8, "s")
        print(f"    each: {' '.join(f'{seconds:.2f}' for seconds in taken[who])}")
    show("ordinary user / root", medians["an ordinary user"] / medians["root"], 1.2, "")


def head_ready(fleet: Fleet) -> float:
    """Seconds from the request that makes a cluster of a head alone."""
    cluster = yaml.safe_load((EXAMPLES / "minimal.yaml").read_text())
    cluster["spec"]["workerGroupSpecs"] = []
    began = time.monotonic()
    assert fleet.send("POST", CLUSTERS, cluster)
    eventually(lambda: any(map(is_ready, fleet.pods("minimal").values())), 120.0, "the head is ready")
    return time.monotonic() - began


def measure_one_user() -> None:
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
            measure_rest(process(state, "operator"))
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
