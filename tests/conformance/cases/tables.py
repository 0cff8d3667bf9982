"""What `kubectl get` shows."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import TABLE, case, get, patch, post
from tests.conformance.cases import manifests as m

RUNNING = {
    "status": {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "containerStatuses": [
            {
                "name": "main",
                "image": "busybox:1",
                "imageID": "x",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}},
            }
        ],
    }
}
WAITING = {
    "status": {
        "containerStatuses": [
            {
                "name": "main",
                "image": "i",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            }
        ]
    }
}


def table(path: str, **more: Any) -> Any:
    return get(path, headers={"Accept": TABLE}, **more)


def shown(name: str, path: str, *bodies: Any) -> Any:
    return case(name, *(post(path, body, unseen=True) for body in bodies), table(f"{path}?labelSelector=!made-by-others"))


CASES = [
    case(
        "table-of-pods",
        post(m.PODS, m.pod("a", {"nodeName": "n"}), unseen=True),
        post(m.PODS, m.pod("b"), unseen=True),
        patch(f"{m.PODS}/a/status", RUNNING, unseen=True),
        patch(f"{m.PODS}/b/status", WAITING, unseen=True),
        table(m.PODS),
        table(f"{m.PODS}/a?includeObject=Object"),
    ),
    shown(
        "table-of-services",
        m.SERVICES,
        m.service("a", {"clusterIP": "None"}),
        m.service("b", {"type": "ExternalName", "externalName": "a.example"}),
    ),
    shown("table-of-secrets", m.SECRETS, m.named("a", data={"x": "AA=="}), m.named("b", type="other")),
    shown(
        "table-of-jobs",
        m.JOBS,
        m.named(
            "a",
            spec={
                "suspend": True,
                "managedBy": "conformance.example/nobody",
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}},
            },
        ),
    ),
    shown("table-of-roles", m.ROLES, m.named("a", rules=[])),
    shown(
        "table-of-rolebindings",
        m.BINDINGS,
        m.named("a", roleRef={"kind": "Role", "name": "r"}, subjects=[{"kind": "ServiceAccount", "name": "s"}]),
    ),
    shown("table-of-slices", m.SLICES, m.named("a", addressType="IPv4", endpoints=[{"addresses": ["10.1.2.3"]}], ports=[{"port": 80}])),
    shown("table-of-leases", "/apis/coordination.k8s.io/v1/namespaces/${ns}/leases", m.named("a", spec={"holderIdentity": "me"})),
    shown(
        "table-of-ingresses",
        "/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses",
        m.named("a", spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}),
    ),
    shown("table-of-policies", "/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies", m.named("a", spec={"podSelector": {}})),
    shown(
        "table-of-claims",
        f"{m.NS}/persistentvolumeclaims",
        m.named("a", spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}),
    ),
    case("table-of-accounts", table(m.ACCOUNTS)),
    case("table-of-namespaces", table("/api/v1/namespaces/${ns}")),
    case(
        "table-of-events",
        post(
            m.EVENTS,
            {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "${ns}"},
                "reason": "R",
                "message": "M",
                "type": "Normal",
                "source": {"component": "c"},
            },
            unseen=True,
        ),
        table(m.EVENTS),
    ),
    case("table-of-boats", post(m.BOATS, m.boat("a"), unseen=True), table(m.BOATS), table("/apis/sea.example/v1/namespaces/${ns}/boats/a")),
    case("table-of-an-error", table(f"{m.PODS}/absent")),
    case("table-of-nodes", post("/api/v1/nodes", m.named("conformance-table"), unseen=True), table("/api/v1/nodes/conformance-table")),
]
