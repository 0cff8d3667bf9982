"""The history server's collector: a sidecar in every Ray Pod that keeps logs and events beyond the cluster's life (KubeRay, 2.11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.raycluster import CollectorOptions, RayCluster
from rayfleet.api.template import absent
from rayfleet.api.validation.history import CONTAINER
from rayfleet.resources import ports
from rayfleet.resources.env import Variable, from_field, head_host, literal
from rayfleet.resources.pod_template import head_service_of, object_of
from rayfleet.resources.volumes import with_shared_logs

Manifest = dict[str, Any]
PORT = 8084
EVENTS = ",".join(
    f"{event}_EVENT"
    for event in (
        "TASK_DEFINITION",
        "TASK_LIFECYCLE",
        "ACTOR_TASK_DEFINITION",
        "TASK_PROFILE",
        "DRIVER_JOB_DEFINITION",
        "DRIVER_JOB_LIFECYCLE",
        "ACTOR_DEFINITION",
        "ACTOR_LIFECYCLE",
        "NODE_DEFINITION",
        "NODE_LIFECYCLE",
    )
)
AGENT = "RAY_DASHBOARD_AGGREGATOR_AGENT_"


def collector_of(cluster: RayCluster) -> CollectorOptions | None:
    options = cluster.spec.history_server_options
    return options.collector_options if options else None


def event_variables(cluster: RayCluster) -> list[Variable]:
    """What makes Ray tell its events to the collector."""
    if collector_of(cluster) is None:
        return []
    return [
        literal("RAY_enable_ray_event", "true"),
        literal("RAY_enable_core_worker_ray_event_to_aggregator", "true"),
        literal(f"{AGENT}EVENTS_EXPORT_ADDR", f"http://localhost:{PORT}/v1/events"),
        literal(f"{AGENT}EXPOSABLE_EVENT_TYPES", EVENTS),
        literal(f"{AGENT}PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES", EVENTS),
    ]


def with_collector(
    cluster: RayCluster, node_type: str, params: Mapping[str, str], spec: Manifest, ray: Manifest, config: Configuration
) -> tuple[Manifest, Manifest]:
    """The Pod's spec with the sidecar, and the Ray container with the logs that both share. `params` are those of `ray start`."""
    options = collector_of(cluster)
    if options is None:
        return spec, ray
    spec, ray, mount = with_shared_logs(spec, ray)
    made: Manifest = {
        "name": CONTAINER,
        "image": options.image,
        "env": [*variables(cluster, node_type, params, config), *(msgspec.json.decode(variable) for variable in options.env)],
        "resources": usual() if absent(options.resources) else object_of(options.resources),
        "volumeMounts": [mount],
    }
    if options.image_pull_policy:
        made["imagePullPolicy"] = options.image_pull_policy
    return {**spec, "containers": [*(spec.get("containers") or [{}]), made]}, ray


def usual() -> Manifest:
    return {"limits": {"cpu": "200m", "memory": "256Mi"}, "requests": {"cpu": "50m", "memory": "64Mi"}}


def variables(cluster: RayCluster, node_type: str, params: Mapping[str, str], config: Configuration) -> list[Variable]:
    found = [
        from_field("POD_IP", "status.podIP"),
        literal("RAY_CLUSTER_NAME", cluster.metadata.name),
        literal("RAY_CLUSTER_NAMESPACE", cluster.metadata.namespace),
        literal("RAY_ROLE", "Head" if node_type == labels.HEAD else "Worker"),
        literal("EVENTS_PORT", str(PORT)),
        literal("FQ_RAY_IP", head_host(cluster, config, head_service_of(cluster))),
    ]
    if node_type == labels.HEAD:
        found.append(literal("RAY_DASHBOARD_ADDRESS", f"http://localhost:{ports.port_of(ports.DASHBOARD, params)}"))
    for name, label in (("OWNER_KIND", labels.ORIGINATED_FROM_KIND), ("OWNER_NAME", labels.ORIGINATED_FROM_NAME)):
        if value := cluster.metadata.label(label):
            found.append(literal(name, value))
    return found
