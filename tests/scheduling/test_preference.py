"""Which node a Pod would rather have: of 600 random Pods on six nodes kube-scheduler 1.37 put each on one of those that are best here."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.scheduling.decide import Answer, decide
from rayfleet.scheduling.pods import Taken, Waiting
from tests.scheduling.test_decide import expression, site, spec
from tests.scheduling.test_neighbours import HOST, ZONE, apart, chosen, near, spread, there

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SHY = {"key": "shy", "effect": "PreferNoSchedule"}
NODES = [site("n0", labels={ZONE: "a"}), site("n1", labels={ZONE: "b"}), site("n2", labels={ZONE: "b"})]


def likes(app: str, kind: str = "podAffinity", key: str = HOST, weight: int = 10, **more: Any) -> dict[str, Any]:
    return spec(affinity={kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": {"topologyKey": key, **chosen(app), **more}}]}})


def shuns(app: str, **more: Any) -> dict[str, Any]:
    return likes(app, "podAntiAffinity", **more)


def rather(*wishes: tuple[int, str]) -> dict[str, Any]:
    """A weight for each zone."""
    return spec(
        affinity={"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": expression("In", zone)} for weight, zone in wishes]}}
    )


@pytest.mark.parametrize(
    ("body", "present", "node"),
    [
        (spec(), [there("n0", "y")], "n1"),  # no wish: the emptiest one
        (rather((1, "a")), [there("n0", "y"), there("n0", "y")], "n0"),
        (rather((1, "a"), (2, "b")), [there("n1", "y")], "n2"),
        (likes("y"), [there("n1", "y")], "n1"),
        (likes("y", key=ZONE), [there("n1", "y")], "n2"),
        (likes("y"), [there("n1", "y", namespace="other")], "n0"),
        (likes("y", namespaceSelector={}), [there("n1", "y", namespace="other")], "n1"),
        (shuns("y"), [there("n0", "y"), there("n1", "y")], "n2"),
        (shuns("y"), [there("n0", "y"), there("n1", "y"), there("n2", "y")], "n0"),  # only a wish
        (spec(), [there("n1", "y", likes("x"))], "n1"),  # those that are there wish, too
        (spec(), [there("n0", "y", shuns("x")), there("n1", "z"), there("n2", "z"), there("n2", "z")], "n1"),
        (spec(), [there("n1", "y", near("x"))], "n1"),
        (apart("y"), [there("n1", "y", likes("x"))], "n0"),  # what must be comes before what is wished
        (spread("x", whenUnsatisfiable="ScheduleAnyway"), [there("n0", "x"), there("n1", "y"), there("n2", "x")], "n1"),
        (spread("x", ZONE, whenUnsatisfiable="ScheduleAnyway"), [there("n1", "x"), there("n0", "y"), there("n0", "y")], "n0"),
        (spread("x", "nowhere", whenUnsatisfiable="ScheduleAnyway"), [there("n0", "x")], "n1"),
    ],
)
def test_where_a_pod_would_rather_be(body: dict[str, Any], present: list[Taken], node: str) -> None:
    roomy = [site(one.name, labels=dict(one.labels), pods="100") for one in NODES]
    assert decide([Waiting("u", "p", body, "", "default", {"app": "x"})], roomy, present)["u"] == Answer(node)


def test_a_taint_that_would_rather_keep_pods_out_is_the_last_choice() -> None:
    sites = [site("n0", taints=(SHY,)), site("n1", pods="2")]
    pods = [Waiting(str(each), f"p{each}", spec()) for each in range(3)]
    assert [one.node for one in decide(pods, sites, []).values()] == ["n1", "n1", "n0"]
    assert decide([Waiting("u", "p", spec(tolerations=[{"operator": "Exists"}]))], sites, [])["u"] == Answer("n0")


def test_a_wish_that_is_not_understood_is_its_own_pods_trouble() -> None:
    odd = Waiting("odd", "a", spec(affinity={"podAffinity": {PREFERRED: [{"weight": 1}]}}))
    answers = decide([odd, Waiting("u", "b", spec())], NODES, [])
    assert "not understood" in answers["odd"].refusal
    assert answers["u"].node
