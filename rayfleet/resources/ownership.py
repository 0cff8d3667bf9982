"""What marks a child as ours: the controller's owner reference and the labels that all children share (KubeRay, 2.3)."""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import RAYCLUSTERS, ObjectMeta, Resource
from rayfleet.api.raycluster import RayCluster


def owner_reference(cluster: RayCluster) -> dict[str, Any]:
    return owned_by(RAYCLUSTERS, cluster.metadata)


def owned_by(resource: Resource, meta: ObjectMeta) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def origin(resource: Resource, meta: ObjectMeta) -> dict[str, str]:
    """The labels that say for whom something was made."""
    return {labels.ORIGINATED_FROM_NAME: meta.name, labels.ORIGINATED_FROM_KIND: resource.kind}


def identifier(cluster: str, node_type: str) -> str:
    return f"{cluster}-{node_type}"[:63].rstrip("-")


def cluster_labels(cluster: str) -> dict[str, str]:
    """What children that belong to no node type are marked with."""
    return {labels.CLUSTER: cluster, labels.APP_NAME: labels.KUBERAY, labels.APP_CREATED_BY: labels.KUBERAY_OPERATOR}


def secret_labels(cluster: str) -> dict[str, str]:
    return {labels.CLUSTER: cluster}


def head_labels(cluster: str) -> dict[str, str]:
    """The labels of a head's Service, which are its selector too."""
    return {
        labels.CLUSTER: cluster,
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: identifier(cluster, labels.HEAD),
        labels.APP_NAME: labels.KUBERAY,
        labels.APP_CREATED_BY: labels.KUBERAY_OPERATOR,
    }


def pod_labels(cluster: str, node_type: str, group: str) -> dict[str, str]:
    """The labels that every Ray Pod has, whatever its template says."""
    return {
        labels.IS_RAY_NODE: "yes",
        labels.CLUSTER: cluster,
        labels.NODE_TYPE: node_type,
        labels.GROUP: group,
        labels.IDENTIFIER: identifier(cluster, node_type),
        labels.APP_NAME: labels.KUBERAY,
        labels.APP_CREATED_BY: labels.KUBERAY_OPERATOR,
    }
