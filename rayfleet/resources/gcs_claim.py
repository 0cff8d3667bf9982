"""The claim on which the head's embedded store lies, where the user names none of his own (KubeRay, 2.3)."""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.names import claim_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources.gcs_ft import storage
from rayfleet.resources.ownership import owner_reference

SIZE, ACCESS_MODE = "1Gi", "ReadWriteOnce"
RETAIN = "Retain"


def is_retained(cluster: RayCluster) -> bool:
    """Does the claim outlive the cluster?"""
    return storage(cluster).deletion_policy == RETAIN


def claim(cluster: RayCluster) -> dict[str, Any]:
    """One that is to outlive the cluster has no owner; the label says whose it is."""
    asked = storage(cluster)
    owners = {} if is_retained(cluster) else {"ownerReferences": [owner_reference(cluster)]}
    storage_class = {} if asked.storage_class_name is None else {"storageClassName": asked.storage_class_name}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_name(cluster.metadata.name),
            "namespace": cluster.metadata.namespace,
            "labels": {labels.CLUSTER: cluster.metadata.name},
            **owners,
        },
        "spec": {
            "accessModes": list(asked.access_modes) or [ACCESS_MODE],
            "resources": {"requests": {"storage": asked.size or SIZE}},
            **storage_class,
        },
    }
