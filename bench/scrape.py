"""How long a scrape of /metrics holds the loop, with a thousand clusters in the cache."""

from __future__ import annotations

import statistics
import time

import msgspec

from bench.figure import show
from rayfleet.api.raycluster import RayCluster
from rayfleet.raycluster.metrics import measure
from rayfleet.runtime.metrics import Metrics
from rayfleet.runtime.queue import Dispenser, WorkQueue
from tests.raycluster.vocabulary import cluster, group

READY = {"type": "RayClusterProvisioned", "status": "True", "reason": "Ready", "lastTransitionTime": "2027-01-15T08:01:30Z"}


def clusters(number: int) -> list[RayCluster]:
    of = cluster(group(), status={"conditions": [READY]})
    named = [msgspec.structs.replace(of.metadata, name=f"c{index}", creation_timestamp="2027-01-15T08:00:00Z") for index in range(number)]
    return [msgspec.structs.replace(of, metadata=metadata) for metadata in named]


def seconds_per_scrape(number: int, rounds: int) -> float:
    metrics = Metrics(host="127.0.0.1:6443", lease="rayfleet")
    metrics.of_kind("RayCluster", Dispenser(WorkQueue()))
    metrics.measure(measure, clusters(number))
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        metrics.text()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    show("scrape of /metrics, 1000 clusters", seconds_per_scrape(1000, 9) * 1e3, 100, "ms")
