"""Fields that the other tests of decisions pass by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation import validate_cluster
from rayfleet.raycluster.plan import plan
from rayfleet.resources.pod import head_pod, worker_pod
from rayfleet.resources.services import head_service
from tests.raycluster.vocabulary import cluster, group, head, observed, template, with_status, worker

CONFIG = Configuration()


def flags(container: dict[str, Any]) -> str:
    return next(variable["value"] for variable in container["env"] if variable["name"] == "KUBERAY_GEN_RAY_START_CMD")


def test_a_groups_resources_and_labels_are_told_to_ray_and_labels_mark_its_pods() -> None:
    own = {"resources": {"CPU": "3", "memory": "1Gi", "nvidia.com/gpu": "2", "disk": "5"}, "labels": {"zone": "north"}}
    of = cluster(group(**own), headGroupSpec={"rayStartParams": {}, "template": template(), **own})
    for made in (head_pod(of, "x", CONFIG), worker_pod(of, of.spec.worker_group_specs[0], Slot(0, 0), 0, "x", CONFIG)):
        line = flags(made["spec"]["containers"][0])
        for flag in ("--num-cpus=3", "--memory=1073741824", "--num-gpus=2", "--labels=zone=north"):
            assert flag in line
        assert '"disk":5' in line
        assert made["metadata"]["labels"]["zone"] == "north"


def test_a_groups_labels_go_before_the_templates_and_change_none_by_which_pods_are_found() -> None:
    own = {"labels": {"zone": "north", "app.kubernetes.io/name": "mine", "ray.io/cluster": "other"}}
    given = {**template(), "metadata": {"labels": {"zone": "south"}}}
    of = cluster(headGroupSpec={"rayStartParams": {}, "template": given, **own})
    marks = head_pod(of, "x", CONFIG)["metadata"]["labels"]
    assert (marks["zone"], marks["app.kubernetes.io/name"], marks["ray.io/cluster"]) == ("north", "mine", "demo")
    assert head_service(of, CONFIG)["spec"]["selector"].items() <= marks.items()


def test_the_head_has_no_second_autoscaler() -> None:
    given = {"rayStartParams": {"no-monitor": "false"}, "template": template()}
    pod = head_pod(cluster(enableInTreeAutoscaling=True, headGroupSpec=given), "x", CONFIG)
    assert "--no-monitor" in flags(pod["spec"]["containers"][0]).split()


def test_the_autoscalers_command_can_be_given() -> None:
    options = {"command": ["/bin/own"], "args": ["--slow"]}
    of = cluster(enableInTreeAutoscaling=True, autoscalerOptions=options)
    sidecar = head_pod(of, "x", CONFIG)["spec"]["containers"][1]
    assert (sidecar["command"], sidecar["args"]) == (["/bin/own"], ["--slow"])


@pytest.mark.parametrize(
    ("field", "value", "told"), [("upscalingMode", "Wild", "one of Default, Aggressive, Conservative"), ("version", "v3", "one of v1, v2")]
)
def test_what_only_rays_autoscaler_reads_is_checked_before_it_does(field: str, value: str, told: str) -> None:
    of = cluster(enableInTreeAutoscaling=True, autoscalerOptions={field: value})
    (fault,) = validate_cluster(of, CONFIG)
    assert fault.path == f"spec.autoscalerOptions.{field}"
    assert told in str(fault)


def settled() -> RayCluster:
    of = cluster(group(replicas=1))
    return with_status(of, plan(observed(of, head(), worker(0))))


def test_the_moment_of_a_new_state_and_of_the_last_change_are_told() -> None:
    status = msgspec.to_builtins(settled().status)
    assert status["stateTransitionTimes"] == {"ready": status["lastUpdateTime"]}


def test_a_state_keeps_its_moment_while_it_lasts_and_the_past_is_kept() -> None:
    past = {"ready": "2026-01-01T00:00:00Z", "suspended": "2025-01-01T00:00:00Z"}
    known = {**msgspec.to_builtins(settled().status), "stateTransitionTimes": past}
    made = plan(observed(reported(known), head(), worker(0, ready=False)))
    assert made.status is not None
    assert "stateTransitionTimes" not in made.status.patch
    lost = plan(observed(reported(known)))
    assert lost.status is not None
    assert "stateTransitionTimes" not in lost.status.patch


def test_a_reason_that_another_operator_left_is_taken_back() -> None:
    known = {**msgspec.to_builtins(settled().status), "reason": "something failed"}
    made = plan(observed(reported(known), head(), worker(0)))
    assert made.status is not None
    assert made.status.patch["reason"] is None


def test_all_that_was_reported_is_remembered() -> None:
    """Read back from what the API server stores, a complete status is written no second time."""
    known = msgspec.to_builtins(settled().status)
    assert plan(observed(reported(known), head(), worker(0))).done


def reported(status: dict[str, Any]) -> RayCluster:
    """The cluster as it comes from the API server."""
    return cluster(group(replicas=1), status=status)
