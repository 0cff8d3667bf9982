"""What `rayfleet diff` is made of: everything that would follow from a changed cluster, up to rest."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.sim.foresight import Change, foresee
from rayfleet.sim.ideal import Refused, render, typed
from rayfleet.sim.kubelet import running
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Obj

CONFIG = Configuration()
NOW = 1_800_000_000.0


def living(obj: Obj, config: Configuration = CONFIG) -> list[Obj]:
    """The children of a cluster that is at rest, as an API server would list them."""
    children = [copy.deepcopy(child) for child in render([obj], config)]
    for number, child in enumerate(children):
        child["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": "5", "namespace": "default"}
        if child["kind"] == "Pod":
            child["status"] = running(child, f"10.0.0.{number}", ready=True)
    return children


def told(found: list[Change]) -> list[str]:
    return [f"{change.verb} {change.kind}/{change.name.rsplit('-', 1)[0]}" for change in found]


def test_a_cluster_at_rest_has_nothing_to_come() -> None:
    obj = cluster("demo", group("small", 2))
    assert foresee(obj, CONFIG, NOW, living(obj)) == []


def test_more_replicas_are_creates_and_fewer_are_deletes_with_the_reason() -> None:
    now, more, fewer = (cluster("demo", group("small", number)) for number in (2, 3, 1))
    (made,) = foresee(more, CONFIG, NOW, living(now))
    assert (made.verb, made.kind, made.why) == ("create", "Pod", "2 of 3 replicas are there")
    (gone,) = foresee(fewer, CONFIG, NOW, living(now))
    assert (gone.verb, gone.kind) == ("delete", "Pod") and gone.why


def test_a_recreate_upgrade_replaces_every_pod_under_new_names() -> None:
    before = cluster("demo", group("small", 2), upgradeStrategy={"type": "Recreate"})
    after = copy.deepcopy(before)
    after["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "other"
    found = foresee(after, CONFIG, NOW, living(before))
    assert told(found) == ["replace Pod/demo-head", "replace Pod/demo-small-worker", "replace Pod/demo-small-worker"]
    assert all(change.by and change.by != change.name and "upgradeStrategy is Recreate" in change.why for change in found)


def test_a_template_alone_changes_no_living_pod() -> None:
    before = cluster("demo", group("small", 1))
    after = copy.deepcopy(before)
    after["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "other"
    assert foresee(after, CONFIG, NOW, living(before)) == []


@pytest.mark.parametrize(
    ("spec", "verb", "kind"),
    [({"enableInTreeAutoscaling": True}, "create", "Role"), ({"headServiceAnnotations": {"a": "b"}}, "change", "Service")],
)
def test_other_children_follow_the_spec(spec: dict[str, Any], verb: str, kind: str) -> None:
    before, after = cluster("demo"), cluster("demo", **spec)
    assert (verb, kind) in {(change.verb, change.kind) for change in foresee(after, CONFIG, NOW, living(before))}


def test_a_service_that_cannot_be_changed_in_place_is_replaced() -> None:
    before, after = cluster("demo"), cluster("demo")
    after["spec"]["headGroupSpec"]["serviceType"] = "NodePort"
    assert told(foresee(after, CONFIG, NOW, living(before))) == ["replace Service/demo-head"]


def test_a_pod_on_its_way_out_counts_as_gone_and_its_name_is_not_used_again() -> None:
    obj = cluster("demo")
    children = living(obj)
    leaving = next(child for child in children if child["kind"] == "Pod")
    leaving["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    (made,) = foresee(obj, CONFIG, NOW, children)
    assert told([made]) == ["create Pod/demo-head"]
    assert made.name != leaving["metadata"]["name"]


def test_what_belongs_to_others_is_not_touched() -> None:
    obj = cluster("demo", group("small", 1))
    children = living(obj)
    stranger = copy.deepcopy(children[-1])
    stranger["metadata"] |= {"name": "stranger", "uid": "x"}
    stranger["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert foresee(obj, CONFIG, NOW, [*children, stranger]) == []


def test_on_openshift_a_route_is_rendered_and_is_at_rest() -> None:
    config = Configuration(has_routes=True)
    obj = cluster("demo")
    obj["spec"]["headGroupSpec"]["enableIngress"] = True
    assert [child["kind"] for child in render([obj], config)].count("Route") == 1
    assert foresee(obj, config, NOW, living(obj, config)) == []


def test_a_refused_spec_is_told_with_all_faults() -> None:
    bad = cluster("demo", {**group("small"), "minReplicas": 5, "maxReplicas": 2}, group("small"))
    with pytest.raises(Refused) as caught:
        foresee(bad, CONFIG, NOW)
    assert len(caught.value.faults["default/demo"]) >= 2
    assert typed(bad).metadata.name == "demo"
