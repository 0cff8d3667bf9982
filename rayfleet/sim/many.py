"""Many storms on all processors: how often each fault and each action occurred, and every seed that broke an invariant.

usage: python -m rayfleet.sim.many [STORMS] [FIRST SEED] [LEADERS]     1 or 2 operators at once; without: half and half
Exit code 1 when an invariant broke, or when a class of fault or a kind of action never occurred.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from typing import NamedTuple

from rayfleet.sim import chaos, faults
from rayfleet.sim.storm import storm

FATES = tuple(f"pod {fate}" for fate in ("ready", "fails", "exits", "pending"))
ACTIONS = ("create Pod", "create Service", "delete Pod", "delete Service", "patch Service", "patch RayCluster", "patch status")
AMONG_TWO = {"restart-leader"}  # needs another one that goes on
TOLD_EVERY = 500


class Told(NamedTuple):
    """One storm's counts, or what went wrong in it."""

    seed: int
    leaders: int
    faults: Counter[str]
    actions: Counter[str]
    problem: str = ""


def run(case: tuple[int, int]) -> Told:
    seed, leaders = case
    try:
        outcome = storm(seed, leaders)
    except Exception as error:
        return Told(seed, leaders, Counter(), Counter(), f"{type(error).__name__}: {error}".split("\n")[0])
    return Told(seed, leaders, outcome.faults, outcome.actions)


def missing(faults_seen: Counter[str], actions_seen: Counter[str], leaders: tuple[int, ...]) -> list[str]:
    """What should have occurred and did not."""
    wanted = {*faults.KINDS, *chaos.ACTS, "quota refusal", *FATES} - (set() if 2 in leaders else AMONG_TWO)
    return sorted(wanted - faults_seen.keys()) + sorted(set(ACTIONS) - actions_seen.keys())


def main(words: list[str]) -> int:
    number = int(words[0]) if words else 500
    first = int(words[1]) if len(words) > 1 else 0
    leaders = (int(words[2]),) if len(words) > 2 else (1, 2)
    cases = [(first + index // len(leaders), leaders[index % len(leaders)]) for index in range(number)]
    logging.disable(logging.CRITICAL)  # faults are meant to be there; 5,000 storms of warnings tell nobody anything
    began = time.monotonic()
    seen, done, broken = Counter[str](), Counter[str](), []
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for count, told in enumerate(pool.imap_unordered(run, cases, chunksize=10), 1):
            seen += told.faults
            done += told.actions
            if told.problem:
                broken.append(told)
                print(f"storm({told.seed}, {told.leaders}): {told.problem}", flush=True)
            if count % TOLD_EVERY == 0:
                print(f"{count} storms, {len(broken)} broken, {count / (time.monotonic() - began):.0f} a second", flush=True)
    for title, counts in (("faults", seen), ("actions", done)):
        print(f"{title} ({counts.total()}): {', '.join(f'{name} {times}' for name, times in sorted(counts.items()))}")
    absent = missing(seen, done, leaders)
    if absent:
        print(f"never occurred: {', '.join(absent)}")
    print(f"{number - len(broken)} passed, {len(broken)} failed")
    return 1 if broken or absent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
