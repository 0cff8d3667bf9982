"""What a RayService makes: its cluster, and the two Services that lead to the one that serves (KubeRay, 4.2 and 4.3)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYSERVICES
from rayfleet.api.names import serve_service_name, service_cluster_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.resources import ports
from rayfleet.resources.cluster_document import cluster_document
from rayfleet.resources.cluster_hash import cluster_hash
from rayfleet.resources.ownership import origin, owned_by
from rayfleet.resources.pod_template import object_of
from rayfleet.resources.services import merged_ports, stable_head_service
from rayfleet.resources.serving import serve_port

Manifest = dict[str, Any]
NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration",)


def cluster_name(service: RayService, living: Collection[str]) -> str:
    """Of a new cluster for the present spec beside those that live."""
    meta = service.metadata
    return service_cluster_name(meta.name, meta.uid, cluster_hash(service.spec.ray_cluster_config), living)


def service_cluster(
    service: RayService, name: str, config: Configuration, serve_hash: str, proxy_location: str, *, empty: bool = False
) -> Manifest:
    """The cluster for the present spec. It carries the service's labels and annotations, and what it was made for. `empty`: as few workers
    as may be to begin with, as its autoscaler is to make them."""
    meta, spec = service.metadata, service.spec.ray_cluster_config
    given = {name: value for name, value in (meta.annotations or {}).items() if not is_private(name)}
    notes = {**given, **marks(service, config), labels.SERVE_CONFIG: serve_hash}
    if proxy_location in ("HeadOnly", "Disabled"):
        notes[labels.PROXY_LOCATION] = proxy_location
    document = cluster_document(spec)
    if empty:
        document["workerGroupSpecs"] = [{**group, "replicas": 0} for group in document.get("workerGroupSpecs", ())]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {**(meta.labels or {}), **origin(RAYSERVICES, service.metadata)},
            "annotations": notes,
            "ownerReferences": [owned_by(RAYSERVICES, service.metadata)],
        },
        "spec": document,
    }


def is_private(annotation: str) -> bool:
    return annotation in NOT_COPIED or (annotation.startswith("rayfleet.dev/") and annotation != labels.AUTOSCALING)


def marks(service: RayService, config: Configuration) -> dict[str, str]:
    """By which it is seen what a cluster was made for."""
    spec = service.spec.ray_cluster_config
    return {
        labels.CLUSTER_HASH: cluster_hash(spec),
        labels.WORKER_GROUPS: str(len(spec.worker_group_specs)),
        labels.KUBERAY_VERSION: config.kuberay_version,
    }


def service_head_service(service: RayService, cluster: RayCluster, config: Configuration) -> Manifest:
    """Leads to the head of the cluster that serves."""
    return stable_head_service(RAYSERVICES, service.metadata, cluster, config)


def serve_name(service: RayService) -> str:
    """Of the serve Service: the user's, else the usual one."""
    given = (object_of(service.spec.serve_service).get("metadata") or {}).get("name")
    return str(given or serve_service_name(service.metadata.name))


def serve_mark(service: RayService) -> str:
    """The value of the label by which serve Services are known."""
    return f"{service.metadata.name}-serve"


def service_serve_service(service: RayService, cluster: RayCluster) -> Manifest:
    """Leads to those proxies of the cluster that answer. What the user's `serveService` says goes before, but for the selector."""
    given = object_of(service.spec.serve_service)
    metadata: Manifest = given.get("metadata") or {}
    asked: Manifest = given.get("spec") or {}
    port = serve_port(cluster)
    own = [{"name": ports.SERVE, "port": port, "targetPort": port, "protocol": "TCP"}]
    spec = {name: value for name, value in asked.items() if name not in ("selector", "ports")}
    spec.setdefault("type", cluster.spec.head_group_spec.service_type or "ClusterIP")
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": serve_name(service),
            "namespace": service.metadata.namespace,
            "labels": {**(metadata.get("labels") or {}), **origin(RAYSERVICES, service.metadata), labels.SERVE: serve_mark(service)},
            **({"annotations": metadata["annotations"]} if metadata.get("annotations") else {}),
            "ownerReferences": [owned_by(RAYSERVICES, service.metadata)],
        },
        "spec": {
            **spec,
            "selector": {labels.CLUSTER: cluster.metadata.name, labels.SERVE: "true"},
            "ports": merged_ports(asked.get("ports") or (), own),
        },
    }
