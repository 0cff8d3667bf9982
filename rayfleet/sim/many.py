"""Many storms on all processors: how often each fault and each action occurred, and every seed that broke an invariant.

usage: python -m rayfleet.sim.many [STORMS] [FIRST SEED] [LEADERS] [KIND]
LEADERS is 1 or 2 operators at once, or a mixture of storms: 1112. KIND is clusters, jobs, services, cronjobs or hosted.
Exit code 1 when an invariant broke, or when a class of fault, a fault on some call, or a kind of action never occurred.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from functools import partial
from typing import NamedTuple

from rayfleet.sim import cron_storm, hosted_storm, job_storm, serve_storm, storm
from rayfleet.sim.storm import Sort

SORTS = {
    "clusters": storm.SORT,
    "jobs": job_storm.SORT,
    "services": serve_storm.SORT,
    "cronjobs": cron_storm.SORT,
    "hosted": hosted_storm.SORT,
}
AMONG_TWO = {"restart-leader"}  # needs another one that goes on
TOLD_EVERY = 500


class Told(NamedTuple):
    """One storm's counts, or what went wrong in it."""

    seed: int
    leaders: int
    faults: Counter[str]
    calls: Counter[str]
    actions: Counter[str]
    problem: str = ""


def run(kind: str, case: tuple[int, int]) -> Told:
    seed, leaders = case
    try:
        outcome = SORTS[kind].storm(seed, leaders)
    except Exception as error:
        return Told(seed, leaders, Counter(), Counter(), Counter(), f"{type(error).__name__}: {error}".split("\n")[0])
    return Told(seed, leaders, outcome.faults, outcome.calls, outcome.actions)


def missing(sort: Sort, seen: Told, leaders: str) -> list[str]:
    """What should have occurred and did not."""
    wanted = sort.faults - (set() if "2" in leaders else AMONG_TWO)
    return [*sorted(wanted - seen.faults.keys()), *sorted(sort.calls - seen.calls.keys()), *sorted(sort.actions - seen.actions.keys())]


def main(words: list[str]) -> int:
    number = int(words[0]) if words else 500
    first = int(words[1]) if len(words) > 1 else 0
    leaders = words[2] if len(words) > 2 else "12"
    kind = words[3] if len(words) > 3 else "clusters"
    cases = [(first + index, int(leaders[index % len(leaders)])) for index in range(number)]
    began = time.monotonic()
    total = Told(0, 0, Counter(), Counter(), Counter())
    broken = 0
    with multiprocessing.Pool(os.cpu_count(), initializer=prepare) as pool:
        for count, told in enumerate(pool.imap_unordered(partial(run, kind), cases, chunksize=10), 1):
            for sums, more in zip(total[2:5], told[2:5], strict=True):
                sums.update(more)
            if told.problem:
                broken += 1
                print(f"{kind}: storm({told.seed}, {told.leaders}): {told.problem}", flush=True)
            if count % TOLD_EVERY == 0:
                print(f"{count} storms, {broken} broken, {count / (time.monotonic() - began):.0f} a second", flush=True)
    for title, counts in (("faults", total.faults), ("faults by call", total.calls), ("actions", total.actions)):
        print(f"{title} ({counts.total()}): {', '.join(f'{name} {times}' for name, times in sorted(counts.items()))}")
    absent = missing(SORTS[kind], total, leaders)
    if absent:
        print(f"never occurred: {', '.join(absent)}")
    print(f"{number - broken} passed, {broken} failed")
    return 1 if broken or absent else 0


def prepare() -> None:
    """Faults are meant to be there: 5,000 storms of warnings tell nobody anything. Storms leave little that only the collector frees."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
