"""The life of one object of each kind: made, made twice, read, replaced, replaced from a stale version, patched, deleted."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case, case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m

Obj = dict[str, Any]
POD_TEMPLATE: Obj = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
EDGE = {"podSelector": {"matchLabels": {"a": "b"}}, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}]}
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
ROUTE = {"host": "a.example", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}
LEASE = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
SLICE: Obj = {
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
    "ports": [{"name": "http", "port": 80}],
}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def life(kind: str, path: str, body: Obj, *, name: str = "one", change: Obj | None = None, end: Obj | None = None) -> Case:
    """`end`: the options of the last delete."""
    one = f"{path}/{name}"
    body = {**body, "metadata": {"name": name, **body.get("metadata", {})}}
    return case(
        f"life-of-{kind}",
        get(one),
        post(path, body, keep={"uid": "metadata.uid", "version": "metadata.resourceVersion"}),
        post(path, body),
        get(one),
        patch(one, change or {"metadata": {"labels": {"seen": "yes"}}}),
        patch(one, change or {"metadata": {"labels": {"seen": "yes"}}}),
        put(one, {**body, "metadata": {**body["metadata"], "resourceVersion": "${version}"}}),
        delete(one, {"preconditions": {"uid": "not-its-uid"}}),
        get(f"{path}?fieldSelector=metadata.name={name}"),
        delete(one, end),
        get(one, until={"code": 404}),
        delete(one),
    )


CASES = [
    life("configmap", m.CONFIGMAPS, {"data": {"a": "1", "b": ""}, "binaryData": {"c": "AAE="}}, change={"data": {"a": None, "d": "2"}}),
    life("secret", m.SECRETS, {"stringData": {"a": "plain"}, "data": {"b": "AAE="}}),
    life("service", m.SERVICES, {"spec": {"selector": {"a": "b"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}}),
    life("pod", m.PODS, m.pod("one"), end={"gracePeriodSeconds": 0}),
    life("serviceaccount", m.ACCOUNTS, {"imagePullSecrets": [{"name": "x"}]}, change={"automountServiceAccountToken": False}),
    life("role", m.ROLES, {"rules": RULES}, change={"rules": [{**RULES[0], "verbs": ["watch"]}]}),
    life(
        "rolebinding",
        m.BINDINGS,
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}, {"kind": "User", "name": "u"}],
        },
    ),
    life("clusterrole", f"{RBAC}/clusterroles", {"rules": RULES}, name="conformance-reader"),
    life(
        "clusterrolebinding",
        f"{RBAC}/clusterrolebindings",
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": []},
        name="conformance-binding",
    ),
    life("networkpolicy", "/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies", {"spec": EDGE}),
    life("ingress", "/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses", {"spec": {"rules": [ROUTE]}}),
    life(
        "persistentvolumeclaim",
        f"{m.NS}/persistentvolumeclaims",
        {"spec": CLAIM},
        change={"metadata": {"finalizers": None, "labels": {"seen": "yes"}}},
    ),
    life("lease", "/apis/coordination.k8s.io/v1/namespaces/${ns}/leases", {"spec": LEASE}, change={"spec": {"leaseTransitions": 1}}),
    life("endpointslice", m.SLICES, SLICE, change={"endpoints": [{"addresses": ["10.1.2.4"], "conditions": {"ready": False}}]}),
    life("endpoints", f"{m.NS}/endpoints", {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}),
    life("node", "/api/v1/nodes", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, name="conformance-node"),
    life("boat", m.BOATS, m.boat("one")),
    life(
        "issuer",
        "/apis/cert-manager.io/v1/namespaces/${ns}/issuers",
        {"spec": {"selfSigned": {}}, "kind": "Issuer", "apiVersion": "cert-manager.io/v1"},
    ),
    life(
        "certificate",
        "/apis/cert-manager.io/v1/namespaces/${ns}/certificates",
        {"spec": {"isCA": True}, "kind": "Certificate", "apiVersion": "cert-manager.io/v1"},
    ),
    life(
        "podgroup",
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/${ns}/podgroups",
        {"spec": {"minMember": 3}, "kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1"},
    ),
    case(
        "life-of-job",
        post(m.JOBS, m.named("one", spec={"suspend": True, "managedBy": "conformance.example/nobody", "template": POD_TEMPLATE})),
        post(m.JOBS, m.named("one", spec={"suspend": True, "managedBy": "conformance.example/nobody", "template": POD_TEMPLATE})),
        patch(f"{m.JOBS}/one", {"spec": {"backoffLimit": 2}}),
        patch(f"{m.JOBS}/one", {"spec": {"completions": 4}}),
        delete(f"{m.JOBS}/one?propagationPolicy=Background"),
        get(f"{m.JOBS}/one", until={"code": 404}),
    ),
    case(
        "status-of-core-kinds",
        post(m.SERVICES, m.service("s", {"type": "LoadBalancer"})),
        patch(f"{m.SERVICES}/s/status", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
        patch(f"{m.SERVICES}/s", {"status": {"loadBalancer": None}, "metadata": {"labels": {"x": "y"}}}),
        get(f"{m.SERVICES}/s/status"),
        post("/api/v1/nodes", m.named("conformance-status")),
        patch("/api/v1/nodes/conformance-status/status", {"status": {"capacity": {"cpu": 2, "memory": "1Gi"}}}),
        delete("/api/v1/nodes/conformance-status"),
    ),
]
