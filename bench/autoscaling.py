"""Hosted autoscaling: how long the pure plan takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench.figure import show
from rayfleet.autoscaling.values import Demand, Strategy
from tests.autoscaling.vocabulary import amounts, decided, gang, group, tasks, worker

ROUNDS = 7


def milliseconds(plan: Callable[[], object]) -> float:
    """The median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        plan()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


def plans() -> None:
    small, large = group(max_replicas=10_000), group(max_replicas=10_000, replicas=1000, resources=amounts(8))
    busy = [worker(f"small-{index:04}", free=index % 40 / 10) for index in range(1000)]
    shapes = tuple(tasks(200, cpu=(number + 1) / 10) for number in range(50))
    distinct = tuple(tasks(1, cpu=1 + number / 10_000) for number in range(10_000))
    apart = tuple(gang(Strategy.STRICT_SPREAD, tasks(4, cpu=1), name=f"_PG_{number:03}") for number in range(100))
    show("plan: 1,000 pending tasks of one shape", milliseconds(lambda: decided(tasks(1000, cpu=1), small)), 50, "ms")
    show("plan: 10,000 pending tasks of one shape", milliseconds(lambda: decided(tasks(10_000, cpu=1), small)), 400, "ms")
    show("plan: 10,000 tasks of 50 shapes, 1,000 workers half used", milliseconds(lambda: decided(Demand(shapes), large, *busy)), 400, "ms")
    show(
        "plan: 100 placement groups apart, 1,000 workers half used",
        milliseconds(lambda: decided(Demand(gangs=apart), large, *busy)),
        0,
        "ms",
    )
    show(
        "plan: 10,000 tasks that all differ, 1,000 workers half used",
        milliseconds(lambda: decided(Demand(distinct), large, *busy)),
        400,
        "ms",
    )
    show("plan: nothing wanted, 1,000 workers", milliseconds(lambda: decided(None, large, *busy)), 0, "ms")


def main() -> None:
    plans()
