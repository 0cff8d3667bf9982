"""Whom a policy lets in and out."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.resources.network_policy import policies
from tests.raycluster.vocabulary import cluster, group

OWN = {"podSelector": {"matchLabels": {"ray.io/cluster": "demo"}}}
RULE = {"ports": [{"port": 9000}]}


def specs(**options: Any) -> dict[str, dict[str, Any]]:
    of = cluster(group("a"), group("b"), networkPolicy=options)
    return {made["metadata"]["name"]: made["spec"] for made in policies(of)}


@pytest.mark.parametrize(
    ("mode", "types", "closed"),
    [
        ("DenyAll", ["Ingress", "Egress"], {"ingress", "egress"}),
        ("DenyAllIngress", ["Ingress"], {"ingress"}),
        ("DenyAllEgress", ["Egress"], {"egress"}),
    ],
)
def test_a_mode_closes_its_directions_and_no_other(mode: str, types: list[str], closed: set[str]) -> None:
    for spec in specs(mode=mode).values():
        assert spec["policyTypes"] == types
        assert spec.keys() & {"ingress", "egress"} == closed


def test_the_clusters_own_pods_may_always_talk_and_names_may_be_asked_for() -> None:
    for spec in specs(mode="DenyAll").values():
        assert spec["ingress"] == [{"from": [OWN]}]
        own, dns = spec["egress"]
        assert own == {"to": [OWN]}
        assert {(port["protocol"], port["port"]) for port in dns["ports"]} >= {("UDP", 53), ("TCP", 53)}
        assert {"namespaceSelector": {}} in dns["to"]


def test_a_groups_own_rules_replace_those_of_all_workers() -> None:
    other = {"ports": [{"port": 8000}]}
    found = specs(mode="DenyAllIngress", worker={"ingressRules": [other]}, workerGroups=[{"groupName": "b", "ingressRules": [RULE]}])
    assert found["demo-head"]["ingress"][1:] == []
    assert found["demo-workers-a"]["ingress"][1:] == [other]
    assert found["demo-workers-b"]["ingress"][1:] == [RULE]


def test_rules_for_the_head_are_the_heads_alone() -> None:
    found = specs(mode="DenyAllEgress", head={"egressRules": [RULE]}, worker={"egressRules": [{}]})
    assert found["demo-head"]["egress"][2:] == [RULE]
    assert found["demo-workers-a"]["egress"][2:] == [{}]
