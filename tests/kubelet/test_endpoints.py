"""Which Pods stand behind a Service."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import ObjectMeta
from rayfleet.kubelet.endpoints import behind, forwards, target_port
from rayfleet.kubelet.objects import Pod, Service

API = ("10.88.0.1", 6443)


def pod(name: str = "p", ready: bool = True, address: str = "10.88.0.2", phase: str = "Running", **meta: Any) -> Pod:
    metadata = ObjectMeta(name=name, namespace="n", labels={"app": "a"}, **meta)
    status = {"phase": phase, "podIP": address, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return Pod(metadata, {"containers": [{"name": "c", "ports": [{"name": "web", "containerPort": 8000}]}]}, status)


def service(name: str = "s", namespace: str = "n", **spec: Any) -> Service:
    spec = {"clusterIP": "10.96.0.9", "selector": {"app": "a"}, "ports": [{"port": 80, "targetPort": "web"}], **spec}
    return Service(ObjectMeta(name=name, namespace=namespace), spec)


@pytest.mark.parametrize(
    ("spec", "one", "there"),
    [
        ({}, pod(), True),
        ({}, pod(ready=False), False),
        ({}, pod(deletion_timestamp="2026-01-01T00:00:00Z"), False),
        ({}, pod(address=""), False),
        ({}, pod(phase="Failed", ready=False), False),
        ({"publishNotReadyAddresses": True}, pod(ready=False), True),
        ({"publishNotReadyAddresses": True}, pod(phase="Failed", ready=False), False),
        ({"selector": {"app": "b"}}, pod(), False),
        ({"selector": None}, pod(), False),
    ],
)
def test_a_pod_is_behind_a_service_when(spec: dict[str, Any], one: Pod, there: bool) -> None:
    assert bool(behind(service(**spec), [one])) is there


def test_pods_of_other_namespaces_are_not_behind_it() -> None:
    assert behind(service(namespace="other"), [pod()]) == []


@pytest.mark.parametrize(
    ("port", "number"),
    [
        ({"port": 80}, 80),
        ({"port": 80, "targetPort": 81}, 81),
        ({"port": 80, "targetPort": "web"}, 8000),
        ({"port": 80, "targetPort": "x"}, None),
    ],
)
def test_the_port_behind_a_port(port: dict[str, Any], number: int | None) -> None:
    assert target_port(port, pod()) == number


def test_connections_go_to_every_ready_pod_and_to_the_api_server() -> None:
    kubernetes = service("kubernetes", "default", clusterIP="10.96.0.1", selector=None, ports=[{"port": 443}])
    pods = [pod("q", address="10.88.0.3"), pod("p"), pod("r", ready=False)]
    assert forwards([service(), kubernetes], pods, API) == {
        ("TCP", "10.96.0.9", 80): (("10.88.0.2", 8000), ("10.88.0.3", 8000)),
        ("TCP", "10.96.0.1", 443): (API,),
    }


def test_ports_of_the_node_lead_to_pods_too() -> None:
    dns = service(ports=[{"port": 53, "protocol": "UDP", "nodePort": 30053}])
    assert forwards([dns], [pod()], API) == {
        ("UDP", "10.96.0.9", 53): (("10.88.0.2", 53),),
        ("UDP", "0.0.0.0", 30053): (("10.88.0.2", 53),),
    }
    own = pod(ready=False)
    own.containers[0]["ports"] += [{"containerPort": 1, "hostPort": 2}, {"containerPort": 3, "hostPort": 4, "hostIP": "127.0.0.1"}]
    assert forwards([], [own, pod(address="")], API) == {
        ("TCP", "0.0.0.0", 2): (("10.88.0.2", 1),),
        ("TCP", "127.0.0.1", 4): (("10.88.0.2", 3),),
    }


@pytest.mark.parametrize("spec", [{"clusterIP": "None"}, {"type": "ExternalName"}, {"selector": {"app": "none"}}])
def test_nothing_listens_for_a_service_that(spec: dict[str, Any]) -> None:
    assert forwards([service(**spec)], [pod()], API) == {}
