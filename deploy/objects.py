"""The objects of the manifests, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rayfleet.api.crds import crds
from rayfleet.api.legacy.definition import old_crd
from rayfleet.cli.rights import BASE, DEFINITIONS, ELECTION, GATED, OLD_CLUSTERS, RIVALS, ROUTES, TOKENS, Right, rules
from rayfleet.version import VERSION

NAME = "rayfleet"
TOKEN_ROLE = "rayfleet-tokens"
GATE_ROLE = "rayfleet-gates"
OLD_ROLE = "rayfleet-old-clusters"
SYSTEM_NAMESPACE = "rayfleet-system"
TEAM_NAMESPACE = "rayfleet"
LABELS = {"app.kubernetes.io/name": NAME}
PORT = 8080
USER = 65532  # "nobody" of images that have no shell

Object = dict[str, Any]


def cluster_wide() -> list[Object]:
    """The operator in a namespace of its own, looking after all."""
    place = SYSTEM_NAMESPACE
    return [
        *crds(),
        namespace(place, {"pod-security.kubernetes.io/enforce": "restricted"}),
        account(place),
        *grant("ClusterRole", NAME, (*BASE, *ROUTES, *RIVALS, *DEFINITIONS), place),
        *grant("ClusterRole", TOKEN_ROLE, TOKENS, place),
        *grant("Role", NAME, ELECTION, place),
        service(place),
        deployment(place, []),
    ]


def single_namespace(place: str = TEAM_NAMESPACE) -> list[Object]:
    """The operator in the namespace that it looks after. Of what is cluster-wide it needs the CRDs only, and those it need not read."""
    return [
        *crds(),
        namespace(place, {}),  # no pod security: Ray's Pods live here as well
        account(place),
        *grant("Role", NAME, (*BASE, *ROUTES, *ELECTION), place),
        *grant("Role", TOKEN_ROLE, TOKENS, place),
        service(place),
        deployment(place, ["--watch-namespace", place]),
    ]


def named(api_version: str, kind: str, name: str, place: str = "") -> Object:
    metadata: Object = {"name": name, **({"namespace": place} if place else {}), "labels": dict(LABELS)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def namespace(name: str, labels: dict[str, str]) -> Object:
    made = named("v1", "Namespace", name)
    made["metadata"]["labels"] |= labels
    return made


def account(place: str) -> Object:
    return {**named("v1", "ServiceAccount", NAME, place), "automountServiceAccountToken": False}


def gates(place: str = SYSTEM_NAMESPACE, kind: str = "ClusterRole") -> list[Object]:
    """What the operator needs besides while the gates RayClusterNetworkPolicy, RayClusterMTLS and GCSFaultToleranceEmbeddedStorage are
    on."""
    return grant(kind, GATE_ROLE, GATED, place)


def old_clusters(place: str = SYSTEM_NAMESPACE, kind: str = "ClusterRole") -> list[Object]:
    """The definition of the Python operator's resource, and what the operator needs to look after it."""
    return [old_crd(), *grant(kind, OLD_ROLE, OLD_CLUSTERS, place)]


def grant(kind: str, name: str, rights: Sequence[Right], place: str) -> list[Object]:
    """A Role or ClusterRole, bound to the operator's account. Who leaves one out goes without what it is for."""
    role = named("rbac.authorization.k8s.io/v1", kind, name, "" if kind == "ClusterRole" else place)
    return [{**role, "rules": rules(rights)}, binding(f"{kind}Binding", name, place, kind)]


def binding(kind: str, name: str, place: str, role: str) -> Object:
    return {
        **named("rbac.authorization.k8s.io/v1", kind, name, "" if kind == "ClusterRoleBinding" else place),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": place}],
    }


def service(place: str) -> Object:
    port = {"name": "metrics", "port": PORT, "targetPort": "http"}
    return {**named("v1", "Service", NAME, place), "spec": {"selector": dict(LABELS), "ports": [port]}}


def deployment(place: str, words: list[str]) -> Object:
    """One process, replaced rather than rolled: two would only wait for each other's lease. A second replica may be added as a spare."""
    return {
        **named("apps/v1", "Deployment", NAME, place),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(LABELS)},
            "template": {"metadata": {"labels": dict(LABELS)}, "spec": pod(words)},
        },
    }


def pod(words: list[str]) -> Object:
    """Within the pod security standard `restricted`."""
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "securityContext": {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 10,
        "containers": [
            {
                "name": "operator",
                "image": f"rayfleet:{VERSION}",
                "args": ["run", "--listen", f"0.0.0.0:{PORT}", *words],
                "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
                "ports": [{"name": "http", "containerPort": PORT}],
                "livenessProbe": probe("/healthz", period=10, failures=3),
                "readinessProbe": probe("/readyz", period=5, failures=1),
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }


def probe(path: str, *, period: int, failures: int) -> Object:
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures}
