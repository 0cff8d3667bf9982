"""What marks a node."""

from __future__ import annotations

from rayfleet.scheduling.loss import found_taints, is_marked, lost_taints

NEW = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OWN = {"key": "team", "value": "a", "effect": "NoSchedule"}


def test_a_ready_node_keeps_its_users_taints_alone() -> None:
    assert is_marked([OWN, NEW])
    assert found_taints([OWN, NEW, *lost_taints([], "2026-01-01T00:00:00Z")]) == [OWN]
    assert not is_marked([OWN])
