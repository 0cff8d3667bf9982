"""Pods that nobody else will remove: those of nodes that are no more, and finished ones beyond a number.

Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from rayfleet.scheduling.objects import Pod

MOST_FINISHED = 1000  # a controller manager keeps 12,500, but not on one laptop's disk
FINISHED = ("Succeeded", "Failed")
ORPHANED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
    "lastProbeTime": None,
}


def surplus(pods: Iterable[Pod], most: int = MOST_FINISHED) -> list[Pod]:
    """The finished Pods that are too many: evicted ones first, then the oldest."""
    finished = sorted((pod for pod in pods if pod.status.get("phase") in FINISHED), key=age)
    return finished[: max(0, len(finished) - most)]


def age(pod: Pod) -> tuple[bool, str, str]:
    return pod.status.get("reason") != "Evicted", pod.metadata.creation_timestamp or "", pod.metadata.name


def orphans(pods: Iterable[Pod], nodes: Collection[str]) -> dict[str, list[Pod]]:
    """Pods by the names of the nodes that are not there."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        node = pod.spec.get("nodeName")
        if node and node not in nodes:
            found.setdefault(node, []).append(pod)
    return found


def last_status(pod: Pod, now: str) -> dict[str, Any] | None:
    """What an orphan's status becomes before it goes, so that who made it learns of its failure; None if it has ended by itself."""
    if pod.status.get("phase") in FINISHED:
        return None
    others = [one for one in pod.status.get("conditions") or () if one.get("type") != ORPHANED["type"]]
    return {"phase": "Failed", "conditions": [*others, {**ORPHANED, "lastTransitionTime": now}]}
