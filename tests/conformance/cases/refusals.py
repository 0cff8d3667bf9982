"""What is refused, and with which words."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import JSON_PATCH, case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m

LONG = "x" * 300


def refused(name: str, path: str, *bodies: Any) -> Any:
    return case(name, *(post(path, body) for body in bodies))


CASES = [
    case("no-such-path", get("/api/v1/nonsense"), get("/apis/no.such/v1/things"), get(f"{m.NS}/nonsense/x"), get("/nonsense")),
    case(
        "no-such-object",
        get(f"{m.PODS}/absent"),
        put(f"{m.CONFIGMAPS}/absent", m.configmap("absent")),
        patch(f"{m.PODS}/absent", {}),
        delete(f"{m.BOATS}/absent"),
        get(f"{m.PODS}/absent/status"),
    ),
    case(
        "no-such-namespace",
        post("/api/v1/namespaces/nowhere/configmaps", m.configmap("a")),
        get("/api/v1/namespaces/nowhere/pods"),
        post("/apis/sea.example/v1/namespaces/nowhere/boats", m.boat("a")),
        get("/api/v1/namespaces/nowhere"),
    ),
    case(
        "method-not-allowed",
        put(m.PODS, m.pod("a")),
        post(f"{m.PODS}/a", m.pod("a")),
        patch(m.PODS, {}),
        delete("/api/v1/pods"),
        post("/api/v1/pods", m.pod("a")),
    ),
    case(
        "media-types",
        patch(f"{m.CONFIGMAPS}/kube-root-ca.crt", {}, "text/plain"),
        post(m.CONFIGMAPS, b"metadata: {name: yes-yaml}", media="application/yaml"),
        post(m.CONFIGMAPS, b"<x/>", media="text/xml"),
        get(f"{m.CONFIGMAPS}/yes-yaml", headers={"Accept": "text/csv"}),
    ),
    case("no-json", post(m.CONFIGMAPS, b"{"), post(m.CONFIGMAPS, b""), post(m.CONFIGMAPS, [1]), post(m.CONFIGMAPS, b"null")),
    case(
        "wrong-kind",
        post(m.CONFIGMAPS, {**m.configmap("a"), "kind": "Pod", "apiVersion": "v1"}),
        post(m.CONFIGMAPS, {**m.configmap("a"), "kind": "ConfigMap", "apiVersion": "v2"}),
        post(m.BOATS, {**m.boat("a"), "kind": "Ship"}),
        post(m.BOATS, {**m.boat("a"), "apiVersion": "sea.example/v9"}),
    ),
    case(
        "wrong-types",
        post(m.CONFIGMAPS, m.configmap("a", {"n": 1})),
        post(m.CONFIGMAPS, {"metadata": {"name": 5}}),
        post(m.CONFIGMAPS, {"metadata": {"name": "a", "labels": {"a": True}}}),
        post(m.SERVICES, m.service("a", {"ports": "80"})),
        post(m.PODS, m.pod("a", {"containers": {}})),
        post(m.PODS, m.pod("a", container={"resources": {"limits": {"cpu": "lots"}}})),
    ),
    refused("wrong-names", m.CONFIGMAPS, m.configmap("UPPER"), m.configmap(""), m.configmap(LONG), {"data": {}}, m.configmap("a_b")),
    refused("wrong-service-names", m.SERVICES, m.service("1abc"), m.service("a.b"), m.service("x" * 64)),
    refused(
        "wrong-labels",
        m.CONFIGMAPS,
        m.configmap("a", labels={"a b": "c"}),
        m.configmap("a", labels={"a": "b c"}),
        m.configmap("a", labels={"a": "x" * 64}),
        m.configmap("a", labels={"/a": "b"}),
        m.configmap("a", annotations={"a b": "c"}),
        m.configmap("a", labels={"x" * 64: ""}),
    ),
    refused(
        "wrong-owners",
        m.CONFIGMAPS,
        m.configmap("a", ownerReferences=[{"kind": "Pod", "apiVersion": "v1", "name": "", "uid": ""}]),
        m.configmap("a", ownerReferences=[m.owner("Pod", "a", "u1", controller=True), m.owner("Pod", "b", "u2", controller=True)]),
        m.configmap("a", ownerReferences=[m.owner("Event", "a", "u1")]),
    ),
    refused("wrong-finalizers", m.CONFIGMAPS, m.configmap("a", finalizers=["not qualified"]), m.configmap("a", finalizers=["plain"])),
    refused("version-on-create", m.CONFIGMAPS, m.configmap("a", resourceVersion="7"), m.configmap("a", uid="my-own")),
    refused("namespace-mismatch", m.CONFIGMAPS, m.configmap("a", namespace="default")),
    refused(
        "wrong-configmaps",
        m.CONFIGMAPS,
        m.configmap("a", {"a b": "c"}),
        {**m.configmap("a", {"k": "1"}), "binaryData": {"k": "AA=="}},
        {**m.configmap("a"), "binaryData": {"b": "?"}},
    ),
    refused(
        "wrong-secrets",
        m.SECRETS,
        m.named("a", data={"a": "?"}),
        m.named("a", data={"a b": "AA=="}),
        m.named("a", type="kubernetes.io/basic-auth", data={}),
        m.named("a", type="kubernetes.io/tls", data={"tls.crt": "AA=="}),
    ),
    case(
        "immutable-configmap",
        post(m.CONFIGMAPS, {**m.configmap("a"), "immutable": True}),
        patch(f"{m.CONFIGMAPS}/a", {"data": {"k": "w"}}),
        patch(f"{m.CONFIGMAPS}/a", {"immutable": False}),
        patch(f"{m.CONFIGMAPS}/a", {"metadata": {"labels": {"x": "y"}}}),
    ),
    case(
        "immutable-secret",
        post(m.SECRETS, m.named("a", type="Opaque", data={})),
        patch(f"{m.SECRETS}/a", {"type": "other"}),
        patch(f"{m.SECRETS}/a", {"immutable": True}),
        patch(f"{m.SECRETS}/a", {"data": {"k": "AA=="}}),
    ),
    case(
        "immutable-metadata",
        post(m.CONFIGMAPS, m.configmap("a")),
        patch(f"{m.CONFIGMAPS}/a", {"metadata": {"name": "b"}}),
        patch(f"{m.CONFIGMAPS}/a", {"metadata": {"uid": "b"}}),
        patch(f"{m.CONFIGMAPS}/a", {"metadata": {"namespace": "b"}}),
        patch(f"{m.CONFIGMAPS}/a", {"metadata": {"creationTimestamp": None, "generation": 7}}),
    ),
    case(
        "stale-version",
        post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"}),
        patch(f"{m.BOATS}/a", {"spec": {"length": 10}}),
        patch(f"{m.BOATS}/a", {"metadata": {"resourceVersion": "${v}"}, "spec": {"length": 11}}),
        put(f"{m.BOATS}/a", m.boat("a", 12)),
        put(f"{m.BOATS}/a", m.boat("a", 12, resourceVersion="${v}")),
        patch(f"{m.BOATS}/a", [{"op": "test", "path": "/metadata/resourceVersion", "value": "${v}"}], JSON_PATCH),
    ),
    refused(
        "wrong-jobs",
        m.JOBS,
        m.named("a", spec={}),
        m.named(
            "a", spec={"parallelism": -1, "template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "a", "image": "b"}]}}}
        ),
    ),
    refused(
        "wrong-roles", m.ROLES, m.named("a", rules=[{"apiGroups": [""], "resources": ["pods"]}]), m.named("a", rules=[{"verbs": ["get"]}])
    ),
    refused(
        "wrong-rolebindings",
        m.BINDINGS,
        m.named("a", subjects=[]),
        m.named("a", roleRef={"apiGroup": "x", "kind": "Pod", "name": ""}),
        m.named("a", roleRef={"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}, subjects=[{"kind": "Robot"}]),
    ),
    case(
        "immutable-role-of-binding",
        post(m.BINDINGS, m.named("a", roleRef={"kind": "Role", "name": "r"}, subjects=[])),
        patch(f"{m.BINDINGS}/a", {"roleRef": {"name": "other"}}),
    ),
    refused(
        "wrong-leases",
        "/apis/coordination.k8s.io/v1/namespaces/${ns}/leases",
        m.named("a", spec={"leaseDurationSeconds": 0}),
        m.named("a", spec={"leaseTransitions": -1}),
        m.named("a", spec={"renewTime": "yesterday"}),
    ),
    refused(
        "wrong-claims",
        f"{m.NS}/persistentvolumeclaims",
        m.named("a", spec={}),
        m.named("a", spec={"accessModes": ["Sometimes"], "resources": {"requests": {"storage": "1Gi"}}}),
    ),
    refused("wrong-slices", m.SLICES, m.named("a", endpoints=[]), m.named("a", addressType="IPv4", endpoints=[{"addresses": ["x"]}])),
    refused(
        "wrong-ingresses",
        "/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses",
        m.named("a", spec={}),
        m.named("a", spec={"rules": [{"host": "a b"}]}),
    ),
]
