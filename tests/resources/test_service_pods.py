"""Pods of a RayService's cluster, and whether a cluster is what its service asks for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups
from rayfleet.resources.pod import head_pod, worker_pod
from tests.raycluster.vocabulary import cluster, group, template

CONFIG = Configuration()


def of_service(**more: Any) -> RayCluster:
    given = cluster(group(), **more)
    meta = msgspec.structs.replace(given.metadata, labels={labels.ORIGINATED_FROM_KIND: "RayService"})
    return msgspec.structs.replace(given, metadata=meta)


def worker(of: RayCluster) -> dict[str, Any]:
    return worker_pod(of, of.spec.worker_group_specs[0], Slot(0, 0), 0, "w", CONFIG)


def test_the_head_serves_when_told_so_and_a_worker_while_its_proxy_answers() -> None:
    of = of_service()
    head, pod = head_pod(of, "h", CONFIG), worker(of)
    assert (head["metadata"]["labels"][labels.SERVE], pod["metadata"]["labels"][labels.SERVE]) == ("false", "true")
    probe = pod["spec"]["containers"][0]["readinessProbe"]
    assert probe["httpGet"] == {"path": "/-/healthz", "port": 8000} and probe["failureThreshold"] == 1
    variables = {each["name"]: each.get("value") for each in head["spec"]["containers"][0]["env"]}
    assert variables["RAY_SERVE_KV_TIMEOUT_S"] == "5" and "kuberay_crd=RayService" in str(variables["RAY_USAGE_STATS_EXTRA_TAGS"])


def test_an_old_ray_s_worker_is_asked_by_a_command() -> None:
    probe = worker(of_service(rayVersion="2.52.0"))["spec"]["containers"][0]["readinessProbe"]
    assert "http://localhost:8000/-/healthz" in probe["exec"]["command"][2] and "52365" in probe["exec"]["command"][2]


def test_the_proxy_s_port_is_the_container_s() -> None:
    port = {"containerPort": 9000, "name": "serve"}
    of = of_service(headGroupSpec={"template": template(ports=[port])})
    assert worker(of)["spec"]["containers"][0]["readinessProbe"]["httpGet"]["port"] == 9000


def test_where_proxies_are_on_the_head_alone_workers_are_ready_without_one() -> None:
    of = of_service(annotations={labels.PROXY_LOCATION: "HeadOnly"})
    pod = worker(of)
    assert pod["metadata"]["labels"][labels.SERVE] == "false"
    assert pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/api/healthz"


def test_pods_of_other_clusters_have_nothing_of_this() -> None:
    of = cluster(group(), annotations={labels.ENABLE_SERVE_SERVICE: "true"})
    assert labels.SERVE not in worker(of)["metadata"]["labels"]
    assert worker(of)["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/api/healthz"


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"workerGroupSpecs": [group(replicas=9, minReplicas=1, maxReplicas=99)]}, True),
        ({"suspend": True}, True),
        ({"workerGroupSpecs": [group(template={"spec": {**template()["spec"], "tolerations": [{"key": "k"}]}})]}, True),
        ({"workerGroupSpecs": [group(template=template(image="other"))]}, False),
        ({"workerGroupSpecs": [group("renamed")]}, False),
        ({"rayVersion": "2.61.0"}, False),
    ],
)
def test_what_may_change_in_place_asks_for_no_other_cluster(change: dict[str, Any], same: bool) -> None:
    groups = change.pop("workerGroupSpecs", [group()])
    assert is_made_for(cluster(group()), cluster(*groups, **change).spec) is same


def test_appended_groups_are_seen() -> None:
    have = cluster(group())
    assert lacks_only_groups(have, cluster(group(), group("extra")).spec)
    assert not lacks_only_groups(have, cluster(group("extra"), group()).spec)
    assert not lacks_only_groups(have, cluster(group()).spec)
