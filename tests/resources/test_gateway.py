"""Gateway, HTTPRoute and the clusters' own serve Services, as KubeRay was recorded to make them (rayservice-incremental)."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.decode import decode, decode_cluster
from rayfleet.api.gateway import decode_route
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.resources.gateway import cluster_serve_service, gateway, http_route
from rayfleet.sim.service_specs import UID, cluster_spec, document, template


def service() -> RayService:
    found = decode(msgspec.json.encode(document()), RayService)
    assert isinstance(found, RayService)
    return found


def owner(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "ray.io/v1", "blockOwnerDeletion": True, "controller": True, "kind": kind, "name": name, "uid": uid}]


def test_gateway() -> None:
    assert gateway(service(), "pretend") == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "shop-gateway", "namespace": "default", "ownerReferences": owner("RayService", "shop", UID)},
        "spec": {"gatewayClassName": "pretend", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }


def test_route() -> None:
    made = http_route(service(), {"shop-aaaaa": (75, 8000), "shop-bbbbb": (25, 9000)})
    assert made == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop-httproute", "namespace": "default", "ownerReferences": owner("RayService", "shop", UID)},
        "spec": {
            "parentRefs": [{"name": "shop-gateway", "namespace": "default"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                    "backendRefs": [
                        {"name": "shop-aaaaa-serve-svc", "namespace": "default", "port": 8000, "weight": 75},
                        {"name": "shop-bbbbb-serve-svc", "namespace": "default", "port": 9000, "weight": 25},
                    ],
                }
            ],
        },
    }
    assert list(decode_route(msgspec.json.encode(made)).weights.items()) == [("shop-aaaaa-serve-svc", 75), ("shop-bbbbb-serve-svc", 25)]


def test_a_cluster_s_own_serve_service() -> None:
    spec = cluster_spec()
    spec["headGroupSpec"] = {"template": template(ports=[{"name": "serve", "containerPort": 9000}])}
    body = {"metadata": {"name": "shop-aaaaa", "namespace": "default", "uid": "u"}, "spec": spec}
    cluster = decode_cluster(msgspec.json.encode(body))
    assert isinstance(cluster, RayCluster)
    marks = {"ray.io/originated-from-cr-name": "shop-aaaaa", "ray.io/originated-from-crd": "RayService", "ray.io/serve": "shop-aaaaa-serve"}
    assert cluster_serve_service(cluster) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "shop-aaaaa-serve-svc",
            "namespace": "default",
            "labels": marks,
            "ownerReferences": owner("RayCluster", "shop-aaaaa", "u"),
        },
        "spec": {
            "type": "ClusterIP",
            "selector": {"ray.io/cluster": "shop-aaaaa", "ray.io/serve": "true"},
            "ports": [{"name": "serve", "port": 9000, "targetPort": 9000, "protocol": "TCP"}],
        },
    }
