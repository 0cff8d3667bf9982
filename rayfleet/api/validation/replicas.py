"""Sizes of worker groups."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import MAX_INT32, WorkerGroupSpec
from rayfleet.api.validation.subject import Subject


def replica_faults(subject: Subject) -> Iterator[Fault]:
    for group in subject.workers:
        yield from bound_faults(group.path, group.spec)
        if group.spec.num_of_hosts < 1:
            yield Fault(f"{group.path}.numOfHosts", f"{group.spec.num_of_hosts} is less than 1", "a replica has at least one host")


def bound_faults(path: str, spec: WorkerGroupSpec) -> Iterator[Fault]:
    low, high = spec.min_replicas, spec.max_replicas
    for name, value in (("replicas", spec.replicas), ("minReplicas", low), ("maxReplicas", high)):
        if value < 0:
            yield Fault(f"{path}.{name}", f"{value} is negative", "it must be 0 or more")
        if value > MAX_INT32:
            yield Fault(f"{path}.{name}", f"{value} is too large", f"it must be at most {MAX_INT32}")
    if low > high >= 0:
        yield Fault(f"{path}.minReplicas", f"{low} is above maxReplicas {high}", "it must be between 0 and maxReplicas")
