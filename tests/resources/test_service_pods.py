"""Pods of a RayService's cluster, and whether a cluster is what its service asks for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration, InjectedProbes
from rayfleet.api.meta import RAYSERVICES, SERVICES
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ServiceView
from rayfleet.raycluster.plan import plan
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups
from rayfleet.resources.pod import head_pod, worker_pod
from rayfleet.resources.services import head_service, stable_head_service
from tests.raycluster.vocabulary import child_of, cluster, group, observed, template

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
    assert probe["httpGet"] == {"path": "/-/healthz", "port": 8000} and probe["failureThreshold"] == 2
    variables = {each["name"]: each.get("value") for each in head["spec"]["containers"][0]["env"]}
    assert variables["RAY_SERVE_KV_TIMEOUT_S"] == "5" and "kuberay_crd=RayService" in str(variables["RAY_USAGE_STATS_EXTRA_TAGS"])


def test_a_worker_whose_proxy_drains_takes_no_requests_ten_seconds_later_however_often_it_is_asked() -> None:
    swift = msgspec.structs.replace(CONFIG, injected_probes=InjectedProbes(period_seconds=1))
    of = of_service()
    probe = worker_pod(of, of.spec.worker_group_specs[0], Slot(0, 0), 0, "w", swift)["spec"]["containers"][0]["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 10


@pytest.mark.parametrize(("more", "seconds"), [({}, None), ({"gcsFaultToleranceOptions": {"backend": "rocksdb"}}, "300")])
def test_a_head_whose_state_outlives_it_gives_its_replicas_time(more: dict[str, Any], seconds: str | None) -> None:
    variables = {each["name"]: each.get("value") for each in head_pod(of_service(**more), "h", CONFIG)["spec"]["containers"][0]["env"]}
    assert variables.get("SERVE_SLOW_STARTUP_WARNING_S") == seconds


@pytest.mark.parametrize(("more", "address"), [({}, "None"), ({"gcsFaultToleranceOptions": {"backend": "rocksdb"}}, None)])
def test_workers_that_outlive_their_head_find_the_next_one_at_the_same_address(more: dict[str, Any], address: str | None) -> None:
    spec = head_service(of_service(**more), CONFIG)["spec"]
    assert (spec.get("clusterIP"), spec["publishNotReadyAddresses"]) == (address, True)


@pytest.mark.parametrize(
    ("declared", "backend", "numbers"),
    [
        ({"app": 9999}, "rocksdb", {6379, 7000, 8000, 8080, 9999, 10001}),
        ({"gcs-server": 6380, "dashboard": 7000}, "rocksdb", {6379, 6380, 7000, 8000, 8080, 10001}),
        ({"app": 9999}, "", {8080, 9999}),
    ],
)
def test_through_an_address_workers_reach_what_the_head_listens_on_though_it_is_not_declared(
    declared: dict[str, int], backend: str, numbers: set[int]
) -> None:
    given = [{"name": name, "containerPort": number} for name, number in declared.items()]
    head = {"rayStartParams": {"dashboard-port": "7000"}, "template": template(ports=given)}
    of = of_service(headGroupSpec=head, **({"gcsFaultToleranceOptions": {"backend": backend}} if backend else {}))
    found = head_service(of, CONFIG)["spec"]["ports"]
    assert {port["port"] for port in found} == {port["targetPort"] for port in found} == numbers
    assert len({port["name"] for port in found}) == len(found) == len(numbers)


def test_a_headless_one_that_is_there_already_is_left_as_it_is() -> None:
    head = {"template": template(ports=[{"name": "app", "containerPort": 9999}])}
    of = of_service(headGroupSpec=head, gcsFaultToleranceOptions={"redisAddress": "redis:6379"})
    there = child_of(head_service(of, CONFIG, headless=True), ServiceView)
    assert not any(action.resource == SERVICES for action in plan(observed(of, services=(there,))).actions)
    assert any(action.resource == SERVICES for action in plan(observed(of, services=())).actions)


def test_the_service_s_own_head_service_is_headless_whatever_becomes_of_its_clusters() -> None:
    of = of_service(gcsFaultToleranceOptions={"backend": "rocksdb"})
    assert stable_head_service(RAYSERVICES, of.metadata, of, CONFIG)["spec"]["clusterIP"] == "None"


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
