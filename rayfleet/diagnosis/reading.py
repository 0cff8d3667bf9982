"""What is worth reading for a diagnosis: which Pods' Events, and which containers' logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rayfleet.diagnosis.containers import PULLING
from rayfleet.diagnosis.pod_state import Container, PodState

PODS_OF_A_GROUP = 3
TAIL = 200


class LogPlace(NamedTuple):
    pod: str
    container: str
    previous: bool


def of_interest(pods: Sequence[PodState]) -> list[PodState]:
    """Pods that are not well: every head, and of each worker group the first few, as the others mostly suffer from the same."""
    counts: dict[str, int] = {}
    chosen = []
    for pod in sorted(pods, key=lambda each: each.name):
        if is_well(pod) and not pod.is_head:
            continue
        counts[pod.group] = counts.get(pod.group, 0) + 1
        if pod.is_head or counts[pod.group] <= PODS_OF_A_GROUP:
            chosen.append(pod)
    return chosen


def is_well(pod: PodState) -> bool:
    return pod.ready and not pod.terminating and not any(pod.restarts())


def logs_of(pod: PodState) -> Iterator[LogPlace]:
    """Of containers that run and are not ready, that ended badly, or that were restarted."""
    for container in pod.containers:
        if runs_unready(container) or container.failed:
            yield LogPlace(pod.name, container.name, False)
        if container.restart_count and container.last_state.terminated:
            yield LogPlace(pod.name, container.name, True)


def runs_unready(container: Container) -> bool:
    waiting = container.state.waiting
    if waiting is not None:
        return waiting.reason == "CrashLoopBackOff" and waiting.reason not in PULLING
    return container.state.running is not None and not container.ready
