"""The offline host: what `render` and `plan` are made of."""

from __future__ import annotations

import copy

import pytest

from rayfleet.api.config import Configuration
from rayfleet.sim.ideal import Refused, next_steps, render, typed
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Obj
from rayfleet.sim.transcript import plan_told

CONFIG = Configuration()


def names(objects: list[Obj]) -> list[str]:
    return [f"{obj['kind']}/{obj['metadata']['name'].rsplit('-', 1)[0]}" for obj in objects]


def test_everything_that_a_new_cluster_gets_is_rendered_in_order() -> None:
    assert names(render([cluster("demo", group("small", 2))], CONFIG)) == [
        "Service/demo-head",
        "Pod/demo-head",
        "Pod/demo-small-worker",
        "Pod/demo-small-worker",
    ]


def test_rendering_twice_gives_the_same_and_leaves_the_input_alone() -> None:
    given = [cluster("demo", group("small", 2), group("slice", 1, hosts=2))]
    before = copy.deepcopy(given)
    assert render(given, CONFIG) == render(given, CONFIG)
    assert given == before


def test_a_suspended_cluster_has_no_pods() -> None:
    assert names(render([cluster("demo", group("small", 2), suspend=True)], CONFIG)) == ["Service/demo-head"]


def test_other_kinds_are_passed_over_and_what_a_live_export_carries_is_ignored() -> None:
    live = cluster("demo", group("small", 1))
    live["metadata"] |= {"uid": "x", "resourceVersion": "77", "generation": 9, "finalizers": ["example.com/held"]}
    live["status"] = {"state": "ready"}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert names(render([other, live], CONFIG)) == ["Service/demo-head", "Pod/demo-head", "Pod/demo-small-worker"]


def test_a_refused_spec_names_the_field_and_the_object() -> None:
    bad = cluster("demo", {**group("small"), "minReplicas": 5, "maxReplicas": 2})
    with pytest.raises(Refused, match=r"default/demo: spec\.workerGroupSpecs\[0\]\.minReplicas") as caught:
        render([cluster("fine"), bad], CONFIG)
    assert list(caught.value.faults) == ["default/demo"]


def test_the_next_steps_of_a_new_cluster_say_why() -> None:
    told = plan_told(*next_steps(cluster("demo", group("small", 1)), CONFIG, 0.0))
    assert "    because the cluster has no head Pod" in told
    assert "    because 0 of 1 replicas are there" in told


def test_the_next_steps_count_only_children_with_this_uid() -> None:
    obj = cluster("demo", group("small", 1))
    pods = [pod for pod in render([obj], CONFIG) if pod["kind"] == "Pod"]
    stranger = copy.deepcopy(pods[1])
    stranger["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert "    because 0 of 1 replicas are there" in plan_told(*next_steps(obj, CONFIG, 0.0, [pods[0], stranger]))
    assert not any("replicas are there" in line for line in plan_told(*next_steps(obj, CONFIG, 0.0, pods)))


def test_the_next_steps_of_a_bad_spec_are_its_refusal() -> None:
    bad = cluster("demo", {**group("small"), "replicas": "three"})
    assert typed(bad).metadata.name == "demo"
    plan = next_steps(bad, CONFIG, 0.0).plan
    assert not plan.actions
    assert [event.reason for event in plan.events] == ["InvalidRayClusterSpec"]
