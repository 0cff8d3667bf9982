"""Whom a policy lets in and out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_cluster, decode_job
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.resources.network_policy import policies
from rayfleet.resources.ray_job import job_cluster
from rayfleet.resources.submitter import submitter_job
from rayfleet.sim.job_life import cluster_spec, head_template
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


def job_and_cluster(mode: str) -> tuple[RayJob, RayCluster]:
    """With policies, as the operator makes the cluster for the job."""
    head = {"rayStartParams": {"dashboard-port": "9265"}, "template": head_template()}
    options = {"mode": "DenyAll", "head": {"ingressRules": [RULE]}}
    spec = {"entrypoint": "x", "submissionMode": mode, "rayClusterSpec": cluster_spec(networkPolicy=options, headGroupSpec=head)}
    job = decode_job(msgspec.json.encode({"metadata": {"name": "train", "namespace": "demo", "uid": "u"}, "spec": spec}))
    assert isinstance(job, RayJob)
    made = decode_cluster(msgspec.json.encode(job_cluster(job, "train-abcde", b"{}", Configuration())))
    assert isinstance(made, RayCluster)
    return job, made


def test_the_submitter_of_the_job_that_has_the_cluster_reaches_the_dashboard_and_no_other_port() -> None:
    job, made = job_and_cluster("K8sJobMode")
    head, *workers = (each["spec"] for each in policies(made))
    _, way_in, given = head["ingress"]
    assert (way_in["ports"], given) == ([{"protocol": "TCP", "port": 9265}], RULE)
    (peer,) = way_in["from"]
    selected = peer["podSelector"]["matchLabels"]
    marks = submitter_job(job, made, b"{}", "", Configuration())["spec"]["template"]["metadata"]["labels"]
    assert peer.keys() == {"podSelector"} and selected and selected.items() <= marks.items()
    assert all(len(each["ingress"]) == 1 for each in workers)


def test_where_the_operator_submits_no_pod_needs_a_way_in() -> None:
    _, made = job_and_cluster("HTTPMode")
    assert [rule for rule in next(policies(made))["spec"]["ingress"] if "ports" in rule] == [RULE]
