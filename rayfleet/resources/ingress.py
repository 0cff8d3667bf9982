"""The way in from outside to the head's dashboard: an Ingress, or a Route on OpenShift (KubeRay, 2.3)."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import INGRESSES, ROUTES
from rayfleet.api.names import ingress_name, route_name
from rayfleet.api.raycluster import IngressOptions, RayCluster
from rayfleet.resources.ownership import cluster_labels, identifier, owner_reference
from rayfleet.resources.pod_template import head_service_of
from rayfleet.resources.services import dashboard_port

Manifest = dict[str, Any]


def metadata(cluster: RayCluster, name: str) -> Manifest:
    annotations = {key: value for key, value in (cluster.metadata.annotations or {}).items() if is_copied(key)}
    return {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {**cluster_labels(cluster.metadata.name), labels.IDENTIFIER: identifier(cluster.metadata.name, labels.HEAD)},
        **({"annotations": annotations} if annotations else {}),
        "ownerReferences": [owner_reference(cluster)],
    }


def is_copied(annotation: str) -> bool:
    """All of the cluster's annotations but the old way to name a class, and those that clients and this operator keep for themselves."""
    return annotation not in (labels.INGRESS_CLASS, labels.LIVES) and not annotation.startswith("kubectl.kubernetes.io/")


def ingress(cluster: RayCluster) -> Manifest:
    options = cluster.spec.head_group_spec.ingress_options or IngressOptions()
    backend = {"service": {"name": head_service_of(cluster), "port": {"number": dashboard_port(cluster)}}}
    path = {"path": options.path or "/", "pathType": options.path_type or "Prefix", "backend": backend}
    spec: Manifest = {"rules": [{**({"host": options.host} if options.host else {}), "http": {"paths": [path]}}]}
    if chosen := cluster.metadata.annotation(labels.INGRESS_CLASS):
        spec["ingressClassName"] = chosen
    if options.tls:
        spec["tls"] = [msgspec.json.decode(entry) for entry in options.tls]
    name = ingress_name(cluster.metadata.name)
    return {"apiVersion": INGRESSES.api_version, "kind": "Ingress", "metadata": metadata(cluster, name), "spec": spec}


def route(cluster: RayCluster) -> Manifest:
    name = route_name(cluster.metadata.name)
    to = {"kind": "Service", "name": head_service_of(cluster), "weight": 100}
    spec = {"to": to, "port": {"targetPort": dashboard_port(cluster)}, "wildcardPolicy": "None"}
    return {"apiVersion": ROUTES.api_version, "kind": "Route", "metadata": metadata(cluster, name), "spec": spec}
