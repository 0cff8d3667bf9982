"""A fleet of three nodes that are one machine: one is lost, one is drained, and the operator has its workers elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.local.state import State
from tests.local.fleet import Fleet, idle_cluster, is_ready
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces

PATIENCE = "0.1"  # of Kubernetes': a silent node is lost after 4 s, a Pod that tolerates that for 10 s goes 1 s later


def cluster(workers: int) -> dict[str, Any]:
    body = idle_cluster("demo", workers)
    pods = body["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    pods["tolerations"] = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}]
    return body


def places(fleet: Fleet) -> dict[str, str]:
    """The node of each ready Pod that is not on its way out."""
    return {name: pod["spec"].get("nodeName", "") for name, pod in fleet.pods("demo").items() if is_ready(pod)}


def test_workers_of_a_lost_and_of_a_drained_node_are_replaced_elsewhere(state: State) -> None:
    fleet = Fleet(state)
    fleet.up_without_ray("--nodes", "3", "--patience", PATIENCE)
    fleet.apply(cluster(2))
    fleet.ready("demo", 2)
    before = places(fleet)
    assert sorted(before.values()) == ["local", "local-2", "local-3"]
    head = next(name for name in before if "head" in name)
    lost, drained = (node for name, node in sorted(before.items()) if name != head)

    fleet.run("node", "stop", lost)
    fleet.run("logs", next(name for name, node in before.items() if node == lost))
    moved = eventually(lambda: elsewhere(fleet, lost, 3), 120.0, "the lost worker is replaced")
    assert moved[head] == before[head]
    assert f"{lost}   NotReady" in fleet.run("node", "list")

    fleet.run("node", "start", lost)
    eventually(lambda: f"{lost}   Ready" in fleet.run("node", "list"), 60.0, "the node is back")
    assert "evicted" in fleet.run("node", "drain", drained)
    eventually(lambda: elsewhere(fleet, drained, 3), 60.0, "the drained worker is replaced")
    assert f"{drained}   Ready,SchedulingDisabled" in fleet.run("node", "list")
    fleet.run("node", "uncordon", drained)
    assert "there are: local, local-2, local-3" in fleet.run("node", "stop", "none", code=1)


def elsewhere(fleet: Fleet, node: str, count: int) -> dict[str, str] | None:
    found = places(fleet)
    return found if len(found) == count and node not in found.values() else None
