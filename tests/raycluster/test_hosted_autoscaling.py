"""The switch between Ray's autoscaler beside the head and the operator's own: what is made, what stays, what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, ROLES, SERVICEACCOUNTS
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Create, Delete
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.validity import faults_of
from rayfleet.resources.ray_job import job_cluster
from rayfleet.resources.ray_service import service_cluster
from tests.raycluster.test_children import accounts
from tests.raycluster.vocabulary import cluster, group, head, observed, template, with_status, worker

HOSTED = {labels.AUTOSCALING: "hosted"}
BY_DEFAULT = Configuration(autoscaling="hosted")
SIDECAR_HEAD = {"containers": [{"name": "ray"}, {"name": "autoscaler"}]}
SAID = {"type": "Autoscaling", "status": "True", "reason": "Working", "message": "", "lastTransitionTime": "2027-01-15T07:00:00Z"}


def autoscaled(annotations: dict[str, str] | None = None, **spec: Any) -> RayCluster:
    return cluster(group(), annotations=annotations, enableInTreeAutoscaling=True, **spec)


def made(found: Plan, resource: Any) -> list[dict[str, Any]]:
    return [dict(action.manifest) for action in found.actions if isinstance(action, Create) and action.resource == resource]


@pytest.mark.parametrize(("annotations", "config"), [(HOSTED, Configuration()), (None, BY_DEFAULT)], ids=["annotation", "default"])
def test_a_hosted_cluster_gets_a_head_without_autoscaler_and_without_account(annotations: Any, config: Configuration) -> None:
    found = plan(observed(autoscaled(annotations), config=config))
    pod = next(each for each in made(found, PODS) if each["metadata"]["labels"][labels.NODE_TYPE] == "head")
    assert [container["name"] for container in pod["spec"]["containers"]] == ["ray"]
    assert "serviceAccountName" not in pod["spec"]
    assert "--no-monitor" in pod["spec"]["containers"][0]["args"][0]
    assert pod["metadata"]["annotations"][labels.AUTOSCALING] == "hosted"
    assert not made(found, SERVICEACCOUNTS)
    assert not made(found, ROLES)


def test_the_annotation_counts_before_the_default() -> None:
    found = plan(observed(autoscaled({labels.AUTOSCALING: "sidecar"}), config=BY_DEFAULT))
    assert made(found, SERVICEACCOUNTS)


def test_turning_it_on_removes_nothing_that_the_old_autoscaler_needs() -> None:
    of = autoscaled(HOSTED)
    found = plan(observed(of, head(**SIDECAR_HEAD), worker(0), worker(1), others=accounts(autoscaled())))
    assert found.actions == ()


def test_the_account_goes_with_the_head_that_needed_it() -> None:
    found = plan(observed(autoscaled(HOSTED), head(), worker(0), worker(1), others=accounts(autoscaled())))
    assert {action.resource for action in found.actions if isinstance(action, Delete)} == set(accounts(autoscaled()))


def test_a_surplus_is_left_to_the_autoscaler_in_both_ways() -> None:
    found = plan(observed(autoscaled(HOSTED), head(), worker(0), worker(1), worker(2)))
    assert [action for action in found.actions if action.resource == PODS] == []


def test_what_the_loop_said_stays_in_the_status_until_it_has_no_more_to_say() -> None:
    hosted = autoscaled(HOSTED, status={"conditions": [SAID]})
    assert "Autoscaling" in conditions_after(hosted, head())
    sidecar = autoscaled(status={"conditions": [SAID]})
    assert "Autoscaling" in conditions_after(sidecar, head(annotations=HOSTED))
    assert "Autoscaling" not in conditions_after(sidecar, head(**SIDECAR_HEAD))


def conditions_after(of: RayCluster, pod: Any) -> set[str]:
    return {condition.type for condition in with_status(of, plan(observed(of, pod, worker(0), worker(1)))).status.conditions}


def test_another_word_is_refused_with_the_two_that_are_known() -> None:
    (fault,) = faults_of(observed(autoscaled({labels.AUTOSCALING: "external"})))
    assert "external" in str(fault)
    assert "sidecar or hosted" in str(fault)


def test_a_groups_own_idle_time_and_priority_need_no_version_of_rays() -> None:
    of = cluster(group(priority=1, idleTimeoutSeconds=30), annotations=HOSTED, enableInTreeAutoscaling=True)
    assert not faults_of(observed(of))
    assert faults_of(observed(cluster(group(priority=1, idleTimeoutSeconds=30), enableInTreeAutoscaling=True)))


def test_a_service_and_a_job_pass_it_on_to_the_clusters_that_they_make() -> None:
    spec = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [group()], "enableInTreeAutoscaling": True}
    meta = {"name": "one", "namespace": "default", "uid": "1", "annotations": HOSTED}
    service = msgspec.convert({"metadata": meta, "spec": {"rayClusterConfig": as_given(spec)}}, RayService)
    job = msgspec.convert({"metadata": meta, "spec": {"rayClusterSpec": as_given(spec)}}, RayJob)
    of_service = service_cluster(service, "one-bcdfg", Configuration(), "hash", "")
    of_job = job_cluster(job, "one-bcdfg", b"", Configuration())
    for made_for in (of_service, of_job):
        assert made_for["metadata"]["annotations"][labels.AUTOSCALING] == "hosted"


def as_given(spec: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(spec), type=RayClusterSpec)
