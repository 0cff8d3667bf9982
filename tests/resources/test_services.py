"""The head's Service in its forms."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.rayjob import RayJob
from rayfleet.api.views import PodStatusView, PodView
from rayfleet.rayservice.observe import target_of as service_target
from rayfleet.resources import services
from rayfleet.resources.ingress import ingress
from rayfleet.resources.submitter import submitter_job
from tests.raycluster.vocabulary import cluster, template


def head_service(of: Any, config: Configuration = Configuration()) -> dict[str, Any]:  # noqa: B008
    return services.head_service(of, config)


def ports_of(service: dict) -> dict[str, int]:
    return {port["name"]: port["port"] for port in service["spec"]["ports"]}


def test_it_is_headless_and_finds_a_head_that_is_not_ready_yet() -> None:
    spec = head_service(cluster())["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)


def test_ports_follow_the_start_parameters() -> None:
    moved = {"rayStartParams": {"port": "6380", "dashboard-port": "8365", "metrics-export-port": "8181"}, "template": template()}
    assert ports_of(head_service(cluster(headGroupSpec=moved))) == {
        "client": 10001,
        "dashboard": 8365,
        "gcs-server": 6380,
        "metrics": 8181,
        "serve": 8000,
    }


def test_declared_ports_win_and_an_unnamed_one_is_called_after_its_number() -> None:
    named = {"template": template(ports=[{"name": "dashboard", "containerPort": 8265}, {"containerPort": 9999}])}
    assert ports_of(head_service(cluster(headGroupSpec=named))) == {"dashboard": 8265, "9999-port": 9999, "metrics": 8080}


def test_a_number_stands_in_the_service_once() -> None:
    """The API refuses a Service with the same port twice, and the cluster would have none."""
    twice = [{"name": "prometheus", "containerPort": 8080}, {"name": "a", "containerPort": 9000}, {"name": "b", "containerPort": 9000}]
    named = {"template": template(ports=twice)}
    assert ports_of(head_service(cluster(headGroupSpec=named))) == {"prometheus": 8080, "a": 9000}


def test_the_serve_service_has_the_type_that_the_head_asks_for() -> None:
    of = cluster(headGroupSpec={"template": template(), "serviceType": "LoadBalancer"})
    assert services.serve_service(of)["spec"]["type"] == "LoadBalancer"
    assert services.serve_service(cluster())["spec"]["type"] == "ClusterIP"


def test_a_users_service_keeps_its_name_and_type_but_not_its_selector() -> None:
    given = {"metadata": {"name": "mine", "annotations": {"a": "b"}}, "spec": {"type": "LoadBalancer", "selector": {"app": "else"}}}
    service = head_service(cluster(headGroupSpec={"template": template(), "headService": given}, headServiceAnnotations={"c": "d"}))
    assert (service["metadata"]["name"], service["spec"]["type"]) == ("mine", "LoadBalancer")
    assert service["metadata"]["annotations"] == {"a": "b", "c": "d"}
    assert service["spec"]["selector"]["ray.io/cluster"] == "demo"


def test_the_selector_follows_a_label_that_the_template_changes() -> None:
    relabelled = {"template": {**template(), "metadata": {"labels": {"app.kubernetes.io/name": "mine"}}}}
    assert head_service(cluster(headGroupSpec=relabelled))["spec"]["selector"]["app.kubernetes.io/name"] == "mine"


def test_a_null_service_is_no_service() -> None:
    assert head_service(cluster(headGroupSpec={"template": template(), "headService": None}))["metadata"]["name"] == "demo-head-svc"


def test_a_cluster_ip_can_be_asked_for() -> None:
    spec = head_service(cluster(), Configuration(enable_ray_head_cluster_ip_service=True))["spec"]
    assert "clusterIP" not in spec


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ({}, {"serve": 8000}),
        ({"dashboard": 8265}, {}),
        ({"serve": 9000, "serve-grpc": 9001, "served": 1}, {"serve": 9000, "serve-grpc": 9001}),
        ({"http": 8000, "serve": 8000}, {"serve": 8000}),
    ],
)
def test_a_serve_service_has_the_ports_that_are_called_so(declared: dict[str, int], found: dict[str, int]) -> None:
    given = template(ports=[{"name": name, "containerPort": number} for name, number in declared.items()])
    assert ports_of(services.serve_service(cluster(headGroupSpec={"template": given}))) == found


@pytest.mark.parametrize("value", ["6390", " 6390 ", "'6390'", '"6390"'])
def test_a_port_is_the_same_in_every_form_of_its_parameter(value: str) -> None:
    given = {"rayStartParams": {"port": value}, "template": template()}
    assert ports_of(head_service(cluster(headGroupSpec=given)))["gcs-server"] == 6390


def test_a_serve_service_leads_to_the_port_called_serve() -> None:
    named = {"template": template(ports=[{"name": "serve", "containerPort": 9000}])}
    (port,) = services.serve_service(cluster(headGroupSpec=named))["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (9000, 9000)


@pytest.mark.parametrize(
    ("declared", "parameters", "found"),
    [([], {}, 8265), ([], {"dashboard-port": "8365"}, 8365), ([("dashboard", 8465)], {}, 8465), ([("serve", 9000)], {}, 8265)],
)
def test_everybody_asks_the_dashboard_at_the_same_port(declared: list[tuple[str, int]], parameters: dict[str, str], found: int) -> None:
    """By the Service's port of that name, as KubeRay does (4.3): a service's configs, a job's submission and its URL, an Ingress."""
    ports = [{"name": name, "containerPort": number} for name, number in declared]
    of = cluster(headGroupSpec={"rayStartParams": parameters, "template": template(**({"ports": ports} if ports else {}))})
    head = PodView(
        metadata=ObjectMeta(name="h", labels={"ray.io/node-type": "head"}), status=PodStatusView(phase="Running", pod_ip="10.0.0.1")
    )
    job = decode(msgspec.json.encode({"metadata": {"name": "j", "namespace": "default"}, "spec": {"entrypoint": "true"}}), RayJob)
    assert isinstance(job, RayJob)
    submitting = submitter_job(job, of, b"{}", "", Configuration())["spec"]["template"]["spec"]["containers"][0]["env"]
    asked = service_target(of, (head,), Configuration())
    address = next(each["value"] for each in submitting if each["name"] == "RAY_DASHBOARD_ADDRESS")
    backend = ingress(of)["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"]
    assert asked is not None and (asked.port, int(address.rpartition(":")[2]), backend) == (found, found, found)
