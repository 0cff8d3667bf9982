"""What an incremental upgrade makes besides clusters: a Gateway, an HTTPRoute that shares the traffic out, and a Service for each cluster
that the route may lead to (KubeRay, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, RAYSERVICES, Resource
from rayfleet.api.names import gateway_name, http_route_name, serve_service_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.resources import ports
from rayfleet.resources.ownership import origin, owned_by, owner_reference
from rayfleet.resources.serving import serve_port

Manifest = dict[str, Any]
LISTENER = {"name": "http", "port": 80, "protocol": "HTTP"}
EVERYTHING = {"path": {"type": "PathPrefix", "value": "/"}}


def gateway(service: RayService, class_name: str) -> Manifest:
    return made(GATEWAYS, service, gateway_name(service.metadata.name), {"gatewayClassName": class_name, "listeners": [LISTENER]})


def http_route(service: RayService, shares: Mapping[str, tuple[int, int]]) -> Manifest:
    """`shares`: the weight of each cluster in percent, and the port of its proxies, in the order in which the route names them."""
    meta = service.metadata
    backends = [
        {"name": serve_service_name(cluster), "namespace": meta.namespace, "port": port, "weight": weight}
        for cluster, (weight, port) in shares.items()
    ]
    spec = {
        "parentRefs": [{"name": gateway_name(meta.name), "namespace": meta.namespace}],
        "rules": [{"matches": [EVERYTHING], "backendRefs": backends}],
    }
    return made(HTTPROUTES, service, http_route_name(meta.name), spec)


def made(resource: Resource, service: RayService, name: str, spec: Manifest) -> Manifest:
    owner = owned_by(RAYSERVICES, service.metadata)
    metadata = {"name": name, "namespace": service.metadata.namespace, "ownerReferences": [owner]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def cluster_serve_mark(cluster: str) -> str:
    """The value of the label by which a cluster's own serve Service is known."""
    return f"{cluster}-serve"


def cluster_serve_service(cluster: RayCluster) -> Manifest:
    """Leads to those proxies of one cluster that answer, whichever cluster has the traffic. It goes with its cluster."""
    name, port = cluster.metadata.name, serve_port(cluster)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": serve_service_name(name),
            "namespace": cluster.metadata.namespace,
            "labels": {**origin(RAYSERVICES, cluster.metadata), labels.SERVE: cluster_serve_mark(name)},
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "type": cluster.spec.head_group_spec.service_type or "ClusterIP",
            "selector": {labels.CLUSTER: name, labels.SERVE: "true"},
            "ports": [{"name": ports.SERVE, "port": port, "targetPort": port, "protocol": "TCP"}],
        },
    }
