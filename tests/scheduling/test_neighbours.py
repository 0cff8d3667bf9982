"""Pods that are placed by where other Pods are: kube-scheduler 1.37 placed the same Pods on the same nodes, and refused in these words."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayfleet.planning.selection import selects
from rayfleet.scheduling.decide import Answer, decide
from rayfleet.scheduling.fit import Site
from rayfleet.scheduling.pods import Taken, Waiting, taken
from tests.scheduling.test_decide import required, site, spec

HOST, ZONE = "kubernetes.io/hostname", "zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NOT_NEAR = "node(s) didn't match pod affinity rules"
OWN = "node(s) didn't match pod anti-affinity rules"
OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"
UNEVEN = "node(s) didn't match pod topology spread constraints"
NODES = [site(f"n{number}", labels={ZONE: "ab"[number % 2]}, pods="100") for number in range(4)]


def chosen(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def apart(app: str, key: str = HOST, **more: Any) -> dict[str, Any]:
    return spec(affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": key, **chosen(app), **more}]}})


def near(app: str, key: str = HOST, **more: Any) -> dict[str, Any]:
    return spec(affinity={"podAffinity": {REQUIRED: [{"topologyKey": key, **chosen(app), **more}]}})


def spread(app: str, key: str = HOST, skew: int = 1, **more: Any) -> dict[str, Any]:
    rule = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **chosen(app)}
    return spec(topologySpreadConstraints=[{**rule, **more}])


def there(node: str, app: str, body: dict[str, Any] | None = None, namespace: str = "default", *, leaving: bool = False) -> Taken:
    return taken(body or spec(), node, namespace, {"app": app}, leaving=leaving)


def asked(body: dict[str, Any], app: str, *present: Taken, nodes: list[Site] = NODES[:2]) -> Answer:
    return decide([Waiting("u", "p", body, "", "default", {"app": app})], nodes, present)["u"]


def words(reasons: str, helpful: str, nodes: int = 2) -> str:
    return f"0/{nodes} nodes are available: {reasons}. preemption: 0/{nodes} nodes are available: {helpful}."


NO_VICTIMS, NO_HELP = "No preemption victims found for incoming pod", "Preemption is not helpful for scheduling"


@pytest.mark.parametrize(
    ("body", "present", "node"),
    [
        (apart("x"), [there("n0", "x"), there("n1", "y"), there("n1", "y")], "n1"),  # not the emptiest one
        (apart("x"), [there("n0", "y")], "n1"),
        (apart("x"), [there("n0", "x", namespace="other"), there("n1", "y"), there("n1", "y")], "n0"),
        (apart("x", namespaces=["other"]), [there("n0", "x", namespace="other"), there("n1", "y"), there("n1", "y")], "n1"),
        (apart("x", namespaceSelector={}), [there("n0", "x", namespace="other"), there("n1", "y"), there("n1", "y")], "n1"),
        (spec(), [there("n0", "y", apart("x")), there("n1", "y"), there("n1", "y")], "n1"),  # those that are there keep it out
        (near("y"), [there("n1", "y"), there("n1", "y")], "n1"),
        (near("x"), [], "n0"),  # the first of its kind
        (spread("x"), [there("n0", "x"), there("n1", "y"), there("n1", "y")], "n1"),
        (spread("x"), [there("n0", "x", leaving=True), there("n1", "y"), there("n1", "y")], "n0"),
        (spread("x"), [there("n0", "x", namespace="other"), there("n1", "y"), there("n1", "y")], "n0"),
        (spread("x", skew=2), [there("n0", "x"), there("n1", "y"), there("n1", "y")], "n0"),
        (spread("x", labelSelector={}), [there("n0", "x"), there("n1", "y"), there("n1", "y")], "n0"),  # counts nobody
    ],
)
def test_where_a_pod_goes(body: dict[str, Any], present: list[Taken], node: str) -> None:
    assert asked(body, "x", *present) == Answer(node)


@pytest.mark.parametrize(
    ("body", "present", "refusal"),
    [
        (apart("x"), [there("n0", "x"), there("n1", "x")], words(f"2 {OWN}", f"2 {NO_VICTIMS}")),
        (spec(), [there("n0", "y", apart("x")), there("n1", "x")], ""),
        (spec(), [there("n0", "y", apart("x")), there("n1", "y", apart("x"))], words(f"2 {OTHERS}", f"2 {NO_VICTIMS}")),
        (near("y"), [], words(f"2 {NOT_NEAR}", f"2 {NO_HELP}")),
        (near("y", "nowhere"), [there("n0", "y")], words(f"2 {NOT_NEAR}", f"2 {NO_HELP}")),
        (spread("x", minDomains=3), [there("n0", "x"), there("n1", "x")], words(f"2 {UNEVEN}", f"2 {NO_VICTIMS}")),
        (spread("x", "nowhere"), [], words(f"2 {UNEVEN} (missing required label)", f"2 {NO_HELP}")),
        (
            {**spread("x"), "affinity": required({"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n0"]}]})},
            [there("n0", "x")],
            "",  # the other node is none over which it could be spread
        ),
        (
            {**spread("x", nodeAffinityPolicy="Ignore"), "nodeSelector": {HOST: "n0"}},
            [there("n0", "x")],
            words(f"1 node(s) didn't match Pod's node affinity/selector, 1 {UNEVEN}", f"1 {NO_VICTIMS}, 1 {NO_HELP}"),
        ),
    ],
)
def test_why_a_pod_goes_nowhere(body: dict[str, Any], present: list[Taken], refusal: str) -> None:
    assert asked(body, "x", *present).refusal == refusal


def test_a_revision_is_spread_by_itself() -> None:
    body = spread("x", matchLabelKeys=["hash"])
    present = [taken(spec(), "n0", "default", {"app": "x", "hash": "old"})]
    pods = [Waiting(str(each), f"p{each}", body, "", "default", {"app": "x", "hash": "new"}) for each in range(2)]
    assert {one.node for one in decide(pods, NODES[:2], present).values()} == {"n0", "n1"}


RULES = st.sampled_from([apart("x"), apart("x", ZONE), apart("y"), near("x"), near("y", ZONE), spread("x"), spread("y", ZONE, 2), spec()])
PODS = st.lists(st.tuples(RULES, st.sampled_from("xy")), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(PODS)
def test_whatever_is_asked_for_no_two_pods_that_shun_each_other_share_a_place_and_nothing_is_lopsided(
    asked_for: list[tuple[dict[str, Any], str]],
) -> None:
    pods = [Waiting(str(n), f"p{n:02}", body, f"{n:02}", "default", {"app": app}) for n, (body, app) in enumerate(asked_for)]
    answers = decide(pods, NODES, [])
    assert all(bool(one.node) != bool(one.refusal) for one in answers.values())
    labels = {node.name: node.labels for node in NODES}
    placed = [(pod, labels[answers[pod.uid].node]) for pod in pods if answers[pod.uid].node]
    for (one, here), (other, beside) in combinations(placed, 2):
        for mine, its in ((one, other), (other, one)):
            for term in rules(mine, "podAntiAffinity"):
                assert not selects(term["labelSelector"], its.labels) or here[term["topologyKey"]] != beside[term["topologyKey"]]
    for number, (pod, here) in enumerate(placed):  # a later one may make it lopsided: it is asked of each when it comes
        before = placed[: number + 1]
        for rule in pod.spec.get("topologySpreadConstraints") or ():
            key = rule["topologyKey"]
            counted = Counter({node.labels[key]: 0 for node in NODES})
            counted.update(where[key] for each, where in before if selects(rule["labelSelector"], each.labels))
            if selects(rule["labelSelector"], pod.labels):
                assert counted[here[key]] - min(counted.values()) <= rule["maxSkew"]


def rules(pod: Waiting, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ((pod.spec.get("affinity") or {}).get(kind) or {}).get(REQUIRED) or []
    return found
