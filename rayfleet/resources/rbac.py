"""What Ray's autoscaler, a container in the head Pod, may do to the API: one account, one role, one binding (KubeRay, 2.3)."""

from __future__ import annotations

from typing import Any

from rayfleet.api.meta import ROLES
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources.ownership import cluster_labels, owner_reference
from rayfleet.resources.pod_template import template_of

Manifest = dict[str, Any]
RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
]


def metadata(cluster: RayCluster, account: str) -> Manifest:
    """`account` is the name that all three have: the usual one, or the one beside it."""
    return {
        "name": account,
        "namespace": cluster.metadata.namespace,
        "labels": cluster_labels(cluster.metadata.name),
        "ownerReferences": [owner_reference(cluster)],
    }


def given_account(cluster: RayCluster) -> str:
    """The account that the head's template names; "" when it names none."""
    return str(template_of(cluster.spec.head_group_spec.template)["spec"].get("serviceAccountName") or "")


def service_account(cluster: RayCluster, account: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(cluster, account)}


def role(cluster: RayCluster, account: str) -> Manifest:
    return {"apiVersion": ROLES.api_version, "kind": "Role", "metadata": metadata(cluster, account), "rules": RULES}


def role_binding(cluster: RayCluster, account: str) -> Manifest:
    subject = {"kind": "ServiceAccount", "name": given_account(cluster) or account, "namespace": cluster.metadata.namespace}
    return {
        "apiVersion": ROLES.api_version,
        "kind": "RoleBinding",
        "metadata": metadata(cluster, account),
        "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": account},
        "subjects": [subject],
    }
