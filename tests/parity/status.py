"""A RayCluster's status without times and messages: what two operators can agree on."""

from __future__ import annotations

from typing import Any

from tests.parity.canonical import Json, number

AMOUNTS = ("desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU")
COUNTERS = ("desiredWorkerReplicas", "minWorkerReplicas", "maxWorkerReplicas", "availableWorkerReplicas", "readyWorkerReplicas")

NODE_PORTS = frozenset(map(str, range(30000, 32768)))  # which one is the API server's choice


def told(status: Json, generation: int) -> Json:
    """State, counters, conditions as `type: status reason`, and where the head is (whether, not which: names and addresses differ)."""
    head = status.get("head") or {}
    handled = status.get("observedGeneration", 0)
    return {
        "state": status.get("state", ""),
        **{name: status.get(name, 0) for name in COUNTERS},
        **{name: number(status.get(name, "0")) for name in AMOUNTS},
        "conditions": {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions") or ()},
        "endpoints": {name: "<node port>" if port in NODE_PORTS else port for name, port in (status.get("endpoints") or {}).items()},
        "head": {name: is_told(name, value) for name, value in head.items() if value},
        "states": sorted(status.get("stateTransitionTimes") or {}),
        "reason": status.get("reason", ""),
        "observedGeneration": "current" if handled == generation else "stale" if handled else "absent",
    }


def is_told(name: str, value: Any) -> Any:
    return value if name == "serviceName" else "given"
