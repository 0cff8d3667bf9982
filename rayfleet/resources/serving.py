"""What the Pods of a RayService's cluster have besides: the label by which the serve Service finds those whose proxy answers, and a worker
that is ready only while its proxy is (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources import gcs_ft, ports
from rayfleet.resources.env import Variable, literal
from rayfleet.resources.pod_template import ray_container, template_of

PATIENCE = (
    ("RAY_timeout_ms_task_wait_for_death_info", "0"),
    ("RAY_gcs_server_request_timeout_seconds", "5"),
    ("RAY_SERVE_KV_TIMEOUT_S", "5"),
)
"""Of Serve with a head that is gone: short, so that requests go on."""

RECOVERY = ("SERVE_SLOW_STARTUP_WARNING_S", "300")
"""Seconds after which a Serve controller that has come back kills the replicas that it has not heard from. Ray's own 30 are too few where
the head Service is headless: for so long gRPC keeps the address of the head that is gone."""


def is_of_service(cluster: RayCluster) -> bool:
    return cluster.metadata.label(labels.ORIGINATED_FROM_KIND) == "RayService"


def outlives_its_head(cluster: RayCluster) -> bool:
    """Do its workers go on serving while there is no head?"""
    return is_of_service(cluster) and bool(gcs_ft.backend(cluster))


def has_worker_proxies(cluster: RayCluster) -> bool:
    """Do workers have a proxy? Not where the Serve config that the cluster was made for keeps them to the head, or has none: a worker that
    waits for one would never be ready."""
    return is_of_service(cluster) and cluster.metadata.annotation(labels.PROXY_LOCATION) not in ("HeadOnly", "Disabled")


def serve_label(cluster: RayCluster, node_type: str) -> dict[str, str]:
    """The head's is turned to true when its proxy answers; a worker's readiness says that of its own."""
    if not is_of_service(cluster):
        return {}
    serves = node_type == labels.WORKER and has_worker_proxies(cluster)
    return {labels.SERVE: str(serves).lower()}


def serve_variables(cluster: RayCluster) -> list[Variable]:
    return [literal(name, value) for name, value in PATIENCE] if is_of_service(cluster) else []


def recovery_variables(cluster: RayCluster) -> list[Variable]:
    """Of a head."""
    return [literal(*RECOVERY)] if outlives_its_head(cluster) else []


def serve_port(cluster: RayCluster) -> int:
    """The port of the proxies: the head container's port named `serve`, else 8000."""
    declared = dict(ports.container_ports(ray_container(template_of(cluster.spec.head_group_spec.template))))
    return declared.get(ports.SERVE, ports.DEFAULTS[ports.SERVE])


def probed_port(cluster: RayCluster, container: Mapping[str, Any]) -> int:
    """The port of the proxy without which a worker is not ready; 0 when it has none."""
    if not has_worker_proxies(cluster):
        return 0
    return dict(ports.container_ports(container)).get(ports.SERVE, serve_port(cluster))
