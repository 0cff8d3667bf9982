"""The figures of a RayCluster's status: totals wanted, Pods counted, where the head is (KubeRay, 2.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api.quantity import ZERO, Quantity, parse
from rayfleet.api.raycluster import MAX_INT32, RayCluster, WorkerGroupSpec
from rayfleet.api.views import ServiceSpecView, ServiceView
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.workers import wanted_replicas
from rayfleet.resources.pod_template import head_service_of, template_of

RESOURCES = {"desiredCPU": "cpu", "desiredMemory": "memory", "desiredTPU": "google.com/tpu"}


def desired_workers(cluster: RayCluster) -> int:
    return min(sum(wanted_replicas(group) * group.num_of_hosts for group in cluster.spec.worker_group_specs), MAX_INT32)


def replicas(observed: Observed, cluster: RayCluster) -> dict[str, int]:
    groups = [group for group in cluster.spec.worker_group_specs if not group.suspend]
    workers = [pod for pod in observed.workers() if not pod.terminating]
    return {
        "desiredWorkerReplicas": desired_workers(cluster),
        "minWorkerReplicas": min(sum(group.min_replicas * group.num_of_hosts for group in groups), MAX_INT32),
        "maxWorkerReplicas": min(sum(group.max_replicas * group.num_of_hosts for group in groups), MAX_INT32),
        "availableWorkerReplicas": sum(pod.running for pod in workers),
        "readyWorkerReplicas": sum(pod.ready for pod in workers),
    }


def totals(cluster: RayCluster) -> dict[str, str]:
    """What the whole cluster asks for: of each container its requests, else its limits."""
    pods = [(template_of(cluster.spec.head_group_spec.template), 1)]
    pods += [(template_of(group.template), count(group)) for group in cluster.spec.worker_group_specs]
    sums = dict.fromkeys((*RESOURCES, "desiredGPU"), ZERO)
    for template, times in pods:
        for container in template["spec"].get("containers") or ():
            for name, amount in asked(container).items():
                sums[name] += amount.times(times)
    return {name: str(amount) for name, amount in sums.items()}


def count(group: WorkerGroupSpec) -> int:
    return wanted_replicas(group) * group.num_of_hosts


def asked(container: Mapping[str, Any]) -> dict[str, Quantity]:
    resources: Mapping[str, Any] = container.get("resources") or {}
    wanted: dict[str, Any] = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    found = {field: parse(wanted[name]) for field, name in RESOURCES.items() if name in wanted}
    gpus = [parse(amount) for name, amount in wanted.items() if name.endswith("gpu") or name.startswith("nvidia.com/mig-")]
    return {**found, **({"desiredGPU": sum(gpus, ZERO)} if gpus else {})}


def head(observed: Observed, cluster: RayCluster) -> dict[str, Any]:
    """Where the head is: its Pod, its Service, and the ports by name."""
    service = service_called(observed, head_service_of(cluster))
    spec = service.spec if service else ServiceSpecView()
    heads = [pod for pod in observed.heads() if not pod.terminating]
    pod = heads[0] if heads else None
    address = pod.status.pod_ip if pod else ""
    headless = service is not None and spec.cluster_ip == "None"
    info = {
        "podName": pod.name if pod else "",
        "podIP": address,
        "serviceName": service.name if service else "",
        "serviceIP": address if headless else spec.cluster_ip,
    }
    return {
        "head": {name: value for name, value in info.items() if value},
        "endpoints": {port.name: str(port.node_port or port.target_port or port.port) for port in spec.ports or () if port.name},
    }


def service_called(observed: Observed, name: str) -> ServiceView | None:
    for service in observed.services:
        if service.name == name:
            return service
    return None
