"""The collector beside Ray."""

from __future__ import annotations

from typing import Any

from tests.raycluster.vocabulary import cluster, group
from tests.resources.test_pods import env_of, head_of, worker_of

GIVEN = {"image": "example/collector:1", "env": [{"name": "STORAGE_BACKEND", "value": "s3"}, {"name": "S3_REGION", "value": "x"}]}


def collectors(**spec: Any) -> list[dict[str, Any]]:
    of = cluster(group(), historyServerOptions={"collectorOptions": {**GIVEN, **spec.pop("collector", {})}}, **spec)
    return [pod(of)["spec"]["containers"][-1] for pod in (head_of, worker_of)]


def test_each_pod_has_one_and_it_knows_whose_it_is() -> None:
    head, worker = collectors()
    assert [env_of(each)["RAY_ROLE"] for each in (head, worker)] == ["Head", "Worker"]
    assert head["image"] == "example/collector:1"
    assert env_of(head)["STORAGE_BACKEND"] == "s3"
    assert "RAY_DASHBOARD_ADDRESS" not in env_of(worker)


def test_it_follows_a_dashboard_that_moved() -> None:
    moved = {"rayStartParams": {"dashboard-port": "8365"}, "template": {"spec": {"containers": [{"name": "ray"}]}}}
    assert env_of(collectors(headGroupSpec=moved)[0])["RAY_DASHBOARD_ADDRESS"] == "http://localhost:8365"


def test_its_resources_can_be_given() -> None:
    given = {"limits": {"cpu": "1"}}
    assert [each["resources"] for each in collectors(collector={"resources": given})] == [given, given]


def test_it_reads_the_logs_that_ray_writes_beside_the_autoscaler_too() -> None:
    of = cluster(group(), enableInTreeAutoscaling=True, historyServerOptions={"collectorOptions": GIVEN})
    spec = head_of(of)["spec"]
    assert [volume["name"] for volume in spec["volumes"]].count("ray-logs") == 1
    assert all({"name": "ray-logs", "mountPath": "/tmp/ray"} in container["volumeMounts"] for container in spec["containers"])
