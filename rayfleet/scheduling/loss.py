"""Nodes that are silent, and their Pods.

A node whose lease has run out is lost: its conditions are unknown, two taints stand for that, its Pods are not ready. A Pod is evicted once
it has lived with a NoExecute taint for as long as it tolerates that; it is gone when its kubelet, or a person, says so.
Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller and
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rayfleet.scheduling.taints import FOR_EVER, Taint, seconds_tolerated

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"  # what an API server gives a node that has just come
MARKS = (UNREACHABLE, NOT_READY)
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
SILENT = {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


def is_ready(node_status: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in node_status.get("conditions") or ())


def lost_conditions(node_status: Mapping[str, Any], now: str) -> list[dict[str, Any]]:
    """All that a silent node said of itself is unknown since `now`."""
    return [{**one, **SILENT, "lastTransitionTime": now} for one in node_status.get("conditions") or ()]


def lost_taints(taints: Sequence[Taint], now: str) -> list[Taint]:
    added: list[Taint] = [
        {"key": UNREACHABLE, "effect": "NoSchedule", "timeAdded": now},
        {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": now},
    ]
    return [*found_taints(taints), *added]


def found_taints(taints: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in taints if taint["key"] not in MARKS]


def is_marked(taints: Sequence[Taint]) -> bool:
    return any(taint["key"] in MARKS for taint in taints)


def unready(pod_conditions: Iterable[Mapping[str, Any]], now: str) -> list[dict[str, Any]] | None:
    """A Pod's conditions when its node is lost; None when it was not ready anyway."""
    conditions = [dict(one) for one in pod_conditions]
    changed = [one for one in conditions if one.get("type") == "Ready" and one.get("status") == "True"]
    for one in changed:
        one |= {"status": "False", "lastTransitionTime": now}
    return conditions if changed else None


def evicted_at(spec: Mapping[str, Any], taints: Sequence[Taint], since: Mapping[str, float], scale: float) -> float:
    """When a Pod has to leave its node; FOR_EVER: it may stay. `since`: key of a taint -> when it was first seen there."""
    bounds = [since[one["key"]] + seconds_tolerated(spec, one) * scale for one in taints if one.get("effect") == "NoExecute"]
    return min(bounds, default=FOR_EVER)


def is_given_up(taints: Sequence[Taint], node_is_ready: bool) -> bool:
    """Somebody has said that the node will not come back: its Pods go without its kubelet's word."""
    return not node_is_ready and any(taint["key"] == OUT_OF_SERVICE for taint in taints)
