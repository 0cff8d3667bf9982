"""How long a pure plan takes at the fixed point, with every child compared."""

from __future__ import annotations

import statistics
import time

from bench.figure import show
from rayfleet.raycluster.plan import plan
from tests.raycluster.vocabulary import cluster, group, head, observed, with_status, worker


def seconds_per_plan(pods: int, rounds: int, times: int) -> float:
    """The median of `rounds` means over `times` plans of a cluster of so many Pods."""
    of = cluster(group(replicas=pods - 1, maxReplicas=1000))
    found = [head(), *(worker(index) for index in range(pods - 1))]
    settled = observed(with_status(of, plan(observed(of, *found))), *found)
    assert plan(settled).done
    means = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(times):
            plan(settled)
        means.append((time.perf_counter() - began) / times)
    return statistics.median(means)


def main() -> None:
    show("pure plan at the fixed point, 4 Pods", seconds_per_plan(4, 7, 500) * 1e6, 300, "us")
    show("pure plan at the fixed point, 500 Pods", seconds_per_plan(500, 7, 20) * 1e3, 20, "ms")
