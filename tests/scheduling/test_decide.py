"""Where Pods go, and the words when they go nowhere: those that kube-scheduler 1.37 wrote for the same nodes and Pods."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.scheduling.amounts import amounts_of, requested
from rayfleet.scheduling.decide import Answer, decide
from rayfleet.scheduling.fit import Site
from rayfleet.scheduling.pods import Waiting, taken

NONE_HELPS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
NOBODY = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."


def site(name: str = "n1", *, labels: dict[str, str] | None = None, taints: tuple[Any, ...] = (), off: bool = False, **has: str) -> Site:
    amounts = amounts_of(
        {"cpu": "2", "memory": "4Gi", "pods": "3"} | {key.replace("__", "/").replace("_", "."): one for key, one in has.items()}
    )
    return Site(name, {"kubernetes.io/hostname": name, **(labels or {})}, taints, off, amounts, amounts)


def spec(cpu: str = "", memory: str = "", port: int = 0, devices: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount} | (devices or {})
    ports = [{"containerPort": 80, "hostPort": port}] if port else []
    return {"containers": [{"name": "c", "resources": {"requests": requests}, "ports": ports}], **more}


def answer(body: dict[str, Any], *sites: Site, present: tuple[dict[str, Any], ...] = ()) -> Answer:
    return decide([Waiting("u", "p", body)], sites, [taken(one, "n1") for one in present])["u"]


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(operator: str, *values: str, key: str = "zone") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (spec("3"), f"0/1 nodes are available: 1 Insufficient cpu. {NONE_HELPS}"),
        (spec(memory="5Gi"), f"0/1 nodes are available: 1 Insufficient memory. {NONE_HELPS}"),
        (spec("3", "5Gi"), f"0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. {NONE_HELPS}"),
        (spec("1", devices={"nvidia.com/gpu": "1"}), f"0/1 nodes are available: 1 Insufficient nvidia.com/gpu. {NONE_HELPS}"),
        (spec(nodeSelector={"a": "b"}), f"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. {NONE_HELPS}"),
    ],
)
def test_a_pod_that_one_node_cannot_take(body: dict[str, Any], words: str) -> None:
    assert answer(body, site()) == Answer(refusal=words)


def test_without_nodes() -> None:
    assert answer(spec("1")) == Answer(refusal="no nodes available to schedule pods")


def test_what_others_have_taken_counts() -> None:
    assert answer(spec("1"), site(), present=(spec("1"),)) == Answer("n1")
    assert answer(spec("1100m"), site(), present=(spec("1"),)).refusal == f"0/1 nodes are available: 1 Insufficient cpu. {NOBODY}"
    assert "1 Too many pods" in answer(spec(), site(), present=(spec(), spec(), spec())).refusal


def test_a_port_of_the_host_is_one_pods_alone() -> None:
    words = f"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. {NOBODY}"
    assert answer(spec(port=8080), site(), present=(spec(port=8080),)) == Answer(refusal=words)
    assert answer(spec(port=8081), site(), present=(spec(port=8080),)) == Answer("n1")


def test_reasons_of_several_nodes_are_counted_and_sorted() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    sites = (site(), site("n2", taints=(taint,)), site("n3", off=True), site("n4", labels={"zone": "z"}, pods="0"))
    found = answer(spec("1900m"), *sites, present=(spec("1"),))
    assert found.refusal == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
        "preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "other"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "j", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], fits: bool) -> None:
    tainted = site(taints=({"key": "k", "value": "v", "effect": "NoSchedule"},))
    assert (answer(spec("1", tolerations=[toleration]), tainted).node == "n1") is fits


def test_a_taint_that_only_prefers_keeps_nobody_out() -> None:
    assert answer(spec("1"), site(taints=({"key": "k", "effect": "PreferNoSchedule"},))) == Answer("n1")


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([expression("In", "z", "y")], True),
        ([expression("NotIn", "z")], False),
        ([expression("Exists")], True),
        ([expression("DoesNotExist")], False),
        ([expression("Gt", "3", key="size")], True),
        ([expression("Lt", "3", key="size")], False),
        ([expression("Gt", "3")], False),  # no number
        ([expression("In", "other"), expression("Exists")], True),  # one term is enough
        ([{}], False),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}], False),
    ],
)
def test_required_node_affinity(terms: list[dict[str, Any]], fits: bool) -> None:
    assert (answer(spec("1", affinity=required(*terms)), site(labels={"zone": "z", "size": "5"})).node == "n1") is fits


def test_pods_spread_over_the_emptier_node() -> None:
    pods = [Waiting(str(number), f"p{number}", spec("500m")) for number in range(4)]
    nodes = [found.node for found in decide(pods, [site("n1", pods="9"), site("n2", pods="9")], []).values()]
    assert sorted(nodes) == ["n1", "n1", "n2", "n2"]


def test_the_higher_priority_comes_first_and_then_the_older_pod() -> None:
    pods = [
        Waiting("young", "a", spec("1"), "2026-01-02T00:00:00Z"),
        Waiting("old", "b", spec("1"), "2026-01-01T00:00:00Z"),
        Waiting("high", "c", spec("1", priority=7), "2026-01-03T00:00:00Z"),
    ]
    found = decide(pods, [site()], [])
    assert {uid for uid, one in found.items() if one.node} == {"high", "old"}


def test_nonsense_in_one_spec_keeps_no_other_pod_waiting() -> None:
    nonsense = spec("1", affinity=required({"matchExpressions": [{"operator": "In"}]}))
    found = decide([Waiting("a", "a", nonsense), Waiting("b", "b", spec("1"))], [site()], [taken({"containers": "all"}, "n1")])
    assert found["a"].refusal == "the Pod's spec is not understood: KeyError: 'key'"
    assert found["b"].node == "n1"


def test_devices_that_a_pretending_node_does_not_name_are_there_and_those_that_it_names_are_counted() -> None:
    from dataclasses import replace

    wants = spec("1", devices={"nvidia.com/gpu": "8"})
    assert answer(wants, replace(site(), pretends=True)) == Answer("n1")
    assert "Insufficient nvidia.com/gpu" in answer(wants, replace(site(nvidia_com__gpu="4"), pretends=True)).refusal
    assert "Insufficient ephemeral-storage" in answer(spec(devices={"ephemeral-storage": "1"}), replace(site(), pretends=True)).refusal


def test_a_pod_takes_the_most_that_it_needs_at_any_time() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    sidecar = container("1", restartPolicy="Always")
    assert requested({"containers": [container("1"), container("2")]})["cpu"] == 3
    assert requested({"containers": [container("1")], "initContainers": [container("5")]})["cpu"] == 5
    assert requested({"containers": [container("1")], "initContainers": [sidecar, container("5")]})["cpu"] == 6
    assert requested({"containers": [container("6")], "initContainers": [container("5"), sidecar]})["cpu"] == 7
    assert requested({"containers": [{"resources": {"limits": {"cpu": "2"}}}], "overhead": {"cpu": "250m"}})["cpu"] * 4 == 9
    assert requested({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}})["cpu"] == 4
