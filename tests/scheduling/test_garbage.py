"""Which Pods nobody else will remove."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rayfleet.api.meta import ObjectMeta
from rayfleet.scheduling.garbage import last_status, orphans, surplus


@dataclass(frozen=True)
class Pod:
    metadata: ObjectMeta
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


def pod(name: str, phase: str = "Running", day: int = 1, node: str = "", **status: Any) -> Pod:
    meta = ObjectMeta(name=name, creation_timestamp=f"2026-01-{day:02}T00:00:00Z")
    return Pod(meta, {"nodeName": node} if node else {}, {"phase": phase, **status})


def names(pods: list[Any]) -> list[str]:
    return [one.metadata.name for one in pods]


def test_of_too_many_finished_pods_evicted_ones_go_first_and_then_the_oldest() -> None:
    pods = [
        pod("c", "Failed", 3),
        pod("a", "Succeeded", 1),
        pod("b", "Failed", 2),
        pod("old", day=1),
        pod("e", "Failed", 9, reason="Evicted"),
    ]
    assert names(surplus(pods, 4)) == []
    assert names(surplus(pods, 2)) == ["e", "a"]
    assert names(surplus(pods, 0)) == ["e", "a", "b", "c"]


def test_pods_without_a_node_are_no_orphans() -> None:
    assert {node: names(found) for node, found in orphans([pod("a", node="n"), pod("b", node="m"), pod("c")], {"m"}).items()} == {
        "n": ["a"]
    }


def test_an_orphan_that_ran_has_failed() -> None:
    ready = {"type": "Ready", "status": "True"}
    told = last_status(pod("a", conditions=[ready]), "now") or {}
    assert told["phase"] == "Failed"
    assert [(one["type"], one.get("reason")) for one in told["conditions"]] == [("Ready", None), ("DisruptionTarget", "DeletionByPodGC")]
    assert last_status(pod("a", "Succeeded"), "now") is None
