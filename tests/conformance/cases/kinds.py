"""Every kind that is served, and what some of them do to others."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import TABLE, Case, case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m

Obj = dict[str, Any]
PV, CLASSES = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses"
LIMITS, BUDGETS = f"{m.NS}/limitranges", "/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets"
INGRESS_CLASSES, RUNTIMES = "/apis/networking.k8s.io/v1/ingressclasses", "/apis/node.k8s.io/v1/runtimeclasses"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
VOLUME: Obj = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}, "storageClassName": "none"}


def kind(word: str, path: str, body: Obj, change: Obj, *bad: Obj, judged: Obj | None = None) -> Case:
    """One object's life, its row in a table, and bodies that are refused. `judged`: what a controller makes of it first."""
    name = f"kinds-{word}"
    one = f"{path}/{name}"
    return case(
        f"kind-{word}",
        post(path, {"metadata": {"name": name}, **body}, keep={"version": "metadata.resourceVersion"}),
        post(path, {"metadata": {"name": name}, **body}),
        get(one, until=judged or {}),
        get(one, headers={"Accept": TABLE}),
        patch(one, change),
        put(one, {"metadata": {"name": name, "resourceVersion": "${version}"}, **body}),
        patch(one, {"metadata": {"labels": {"a b": "c"}}}),
        delete(one, {"preconditions": {"uid": "not-its-uid"}}),
        get(f"{path}?fieldSelector=metadata.name={name}"),
        post(f"{path}?fieldValidation=Strict", {"metadata": {"name": f"{name}-odd"}, **body, "nonsense": 1}),
        *(post(path, {"metadata": {"name": f"{name}-bad"}, **each}) for each in bad),
        delete(one),
        get(one, until={"code": 404}),
        delete(one),
    )


CASES = [
    kind(
        "storageclass",
        CLASSES,
        {"provisioner": "x.example/y"},
        {"metadata": {"annotations": {"a": "b"}}},
        {},
        {"provisioner": "x", "reclaimPolicy": "Maybe"},
    ),
    kind(
        "limitrange",
        LIMITS,
        {"spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": 1}, "min": {"cpu": "50m"}}]}},
        {"spec": {"limits": [{"type": "Pod", "max": {"memory": "1Gi"}}]}},
    ),
    kind("ingressclass", INGRESS_CLASSES, {"spec": {"controller": "example.com/c"}}, {"metadata": {"labels": {"a": "b"}}}, {"spec": {}}),
    kind("runtimeclass", RUNTIMES, {"handler": "runc"}, {"metadata": {"labels": {"a": "b"}}}, {}, {"handler": "NO_"}),
    kind(
        "priorityclass",
        PRIORITIES,
        {"value": 10, "description": "d"},
        {"description": "e"},
        {"value": 2_000_000_000},
        {"value": 1, "preemptionPolicy": "x"},
    ),
    kind(
        "budget",
        BUDGETS,
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"no": "such"}}}},
        {"spec": {"minAvailable": "50%"}},
        {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
        {"spec": {"minAvailable": -1}},
        judged={"status.observedGeneration": 1},
    ),
    case(
        "kind-volume",
        post(PV, m.named("kinds-store", spec=VOLUME)),
        post(PV, m.named("kinds-store-bad", spec={})),
        get(f"{PV}/kinds-store", headers={"Accept": TABLE}),
        delete(f"{PV}/kinds-store", unseen=True),
    ),
    case(
        "priority-of-a-pod",
        post(PRIORITIES, m.named("kinds-high", value=1000, preemptionPolicy="Never")),
        post(m.PODS, m.pod("a", {"priorityClassName": "kinds-high"})),
        post(m.PODS, m.pod("b", {"priorityClassName": "no-such"})),
        post(m.PODS, m.pod("c", {"priorityClassName": "kinds-high", "priority": 5})),
        post(m.PODS, m.pod("d")),
        delete(f"{PRIORITIES}/kinds-high"),
    ),
    case("system-priorities", get(f"{PRIORITIES}/system-node-critical"), delete(f"{PRIORITIES}/system-node-critical")),
    case(
        "limits-of-pods",
        post(
            LIMITS,
            m.named(
                "l",
                spec={
                    "limits": [
                        {
                            "type": "Container",
                            "default": {"cpu": "500m", "memory": "256Mi"},
                            "defaultRequest": {"cpu": "100m"},
                            "max": {"cpu": "1"},
                            "min": {"cpu": "50m"},
                        },
                        {"type": "Pod", "max": {"memory": "1Gi"}},
                    ]
                },
            ),
        ),
        post(m.PODS, m.pod("filled")),
        post(m.PODS, m.pod("kept", container={"resources": {"limits": {"cpu": "200m"}}})),
        post(m.PODS, m.pod("large", container={"resources": {"limits": {"cpu": "2"}}})),
        post(m.PODS, m.pod("small", container={"resources": {"requests": {"cpu": "10m"}}})),
        post(m.PODS, m.pod("heavy", container={"resources": {"limits": {"memory": "2Gi"}}})),
    ),
    case(
        "eviction-and-a-budget",
        post(BUDGETS, m.named("b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}), unseen=True),
        *(post(m.PODS, m.pod(name, labels={"app": "a"}), unseen=True) for name in ("p1", "p2")),
        *(
            patch(
                f"{m.PODS}/{name}/status",
                {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
                "application/strategic-merge-patch+json",
                unseen=True,
            )
            for name in ("p1", "p2")
        ),
        get(f"{BUDGETS}/b", until={"status.disruptionsAllowed": 1, "status.currentHealthy": 2}, unseen=True),
        get(f"{BUDGETS}/b", headers={"Accept": TABLE}),
        post(f"{m.PODS}/p1/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p1"}}),
        get(f"{BUDGETS}/b", until={"status.disruptionsAllowed": 0, "status.currentHealthy": 1}, unseen=True),
        post(f"{m.PODS}/p2/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p2"}}),
        get(f"{m.PODS}/p2"),
    ),
    case(
        "kinds-left-out",
        get("/apis/no.example/v1/things"),
        get("/api/v1/nonsense"),
        put("/apis/authentication.k8s.io/v1/tokenreviews", {}),
        get("/apis/authentication.k8s.io/v1/tokenreviews"),
        get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        delete("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x"),
    ),
]
