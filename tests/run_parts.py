"""Runs the whole test suite in parts, one after another, and prints each part's share of the time.

usage: python tests/run_parts.py [PART...]      exit code 1 if any part fails; all parts are run whatever fails
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTEST = [sys.executable, "-m", "pytest", "--durations=3"]
PURE = ["rayfleet/api", "rayfleet/planning", "rayfleet/resources", "rayfleet/raycluster"]

PARTS: dict[str, list[list[str]]] = {
    "lint": [
        [str(BIN / "ruff"), "check", "rayfleet", "tests", "bench", "testbed", "deploy"],
        [str(BIN / "ruff"), "format", "--check", "--quiet", "rayfleet", "tests", "bench", "testbed", "deploy"],
        [str(BIN / "lint-imports")],
        [str(BIN / "mypy"), "--strict", *PURE],
    ],
    "decisions": [[*PYTEST, "tests/api", "tests/planning", "tests/resources", "tests/raycluster", "tests/house"]],
    "simulator": [[*PYTEST, "tests/sim"]],
    "client and runtime": [[*PYTEST, "tests/kube", "tests/runtime"]],
    "embedded API": [[*PYTEST, "tests/apiserver"]],
    "parity": [[*PYTEST, "tests/parity"]],
    "kubelet": [[*PYTEST, "tests/kubelet", "-m", "not ray"]],
    "fleet and commands": [[*PYTEST, "tests/local", "tests/cli", "-m", "not ray"]],
    "Kubernetes": [[*PYTEST, "tests", "-m", "testbed and not ray"]],
    "real Ray": [[*PYTEST, "tests", "-m", "ray"]],
}


def run(commands: list[list[str]]) -> tuple[bool, int, int]:
    """Whether all went well, and how many tests passed and failed."""
    fine, passed, failed = True, 0, 0
    for command in commands:
        process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(process.stdout, flush=True)
        fine = fine and process.returncode == 0
        passed += counted(process.stdout, "passed")
        failed += counted(process.stdout, "failed") + counted(process.stdout, "errors?")
    return fine, passed, failed


def counted(output: str, word: str) -> int:
    """The last count of the word in pytest's closing line."""
    found = re.findall(rf"(\d+) {word}\b", output)
    return int(found[-1]) if found else 0


def main() -> int:
    chosen = sys.argv[1:] or list(PARTS)
    shares: dict[str, tuple[bool, float]] = {}
    passed = failed = 0
    for part in chosen:
        print(f"== {part}", flush=True)
        began = time.monotonic()
        fine, good, bad = run(PARTS[part])
        shares[part] = (fine, time.monotonic() - began)
        passed, failed = passed + good, failed + bad
    total = sum(seconds for _, seconds in shares.values())
    print("== shares")
    for part, (fine, seconds) in shares.items():
        print(f"{'ok  ' if fine else 'FAIL'} {part:20} {seconds:7.1f} s  {100 * seconds / total:3.0f} %")
    broken = sum(not fine for fine, _ in shares.values())
    print(f"     {'all parts':20} {total:7.1f} s")
    print(f"{passed} passed, {max(failed, broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
