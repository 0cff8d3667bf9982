"""Environment variables that Ray's containers get unless the user set them (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources import ports

Variable = dict[str, Any]
MANAGED = frozenset(
    {
        "FQ_RAY_IP",
        "RAY_IP",
        "RAY_CLUSTER_NAME",
        "RAY_CLUSTER_NAMESPACE",
        "RAY_CLOUD_INSTANCE_ID",
        "RAY_NODE_TYPE_NAME",
        "KUBERAY_GEN_RAY_START_CMD",
        "RAY_USAGE_STATS_EXTRA_TAGS",
    }
)


def literal(name: str, value: str) -> Variable:
    return {"name": name, "value": value}


def from_field(name: str, path: str) -> Variable:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def merged(given: Iterable[Mapping[str, Any]], added: Iterable[Variable]) -> list[Variable]:
    """The user's variables first and untouched, then those of ours whose names they do not use.

    What says who a node is and where the head is, is never the user's: the autoscaler would take one node for another. KubeRay puts its own
    value behind the user's, which hides it; here it stands alone.
    """
    ours = list(added)
    managed = {variable["name"] for variable in ours} & MANAGED
    kept = [dict(variable) for variable in given if variable.get("name") not in managed]
    names = {variable.get("name") for variable in kept}
    return kept + [variable for variable in ours if variable["name"] not in names]


def head_host(cluster: RayCluster, config: Configuration, service: str) -> str:
    """The head Service's full name in DNS."""
    return f"{service}.{cluster.metadata.namespace}.svc.{config.cluster_domain}"


def address_variables(cluster: RayCluster, config: Configuration, service: str) -> list[Variable]:
    """Where the head is, for workers and their init containers. `RAY_IP` is kept for old manifests."""
    return [literal("FQ_RAY_IP", head_host(cluster, config, service)), literal("RAY_IP", service)]


def identity_variables(line: str, port: int, address: str) -> list[Variable]:
    """Who this node is. Ray's autoscaler needs the instance id and the node type name of every node."""
    return [
        from_field("RAY_CLUSTER_NAME", f"metadata.labels['{labels.CLUSTER}']"),
        from_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
        from_field("RAY_CLOUD_INSTANCE_ID", "metadata.name"),
        from_field("RAY_NODE_TYPE_NAME", f"metadata.labels['{labels.GROUP}']"),
        literal("KUBERAY_GEN_RAY_START_CMD", line),
        literal("RAY_PORT", str(port)),
        literal("RAY_ADDRESS", address),
        literal("RAY_USAGE_STATS_KUBERAY_IN_USE", "1"),
        literal("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"),
    ]


def head_variables(cluster: RayCluster, line: str, params: Mapping[str, str], config: Configuration) -> list[Variable]:
    port = ports.port_of(ports.GCS, params)
    maker = cluster.metadata.label(labels.ORIGINATED_FROM_KIND) or "RayCluster"
    tags = f"kuberay_version={config.kuberay_version};kuberay_crd={maker}"
    return [*identity_variables(line, port, f"127.0.0.1:{port}"), literal("RAY_USAGE_STATS_EXTRA_TAGS", tags)]


def worker_variables(cluster: RayCluster, line: str, port: int, config: Configuration, service: str) -> list[Variable]:
    address = f"{head_host(cluster, config, service)}:{port}"
    return [*address_variables(cluster, config, service), *identity_variables(line, port, address)]
