"""Deletion: preconditions, grace, propagation, finalizers, collections, namespaces."""

from __future__ import annotations

from tests.conformance.case import case, delete, get, patch, post
from tests.conformance.cases import manifests as m

A, POD = f"{m.CONFIGMAPS}/a", f"{m.PODS}/a"
make = post(m.CONFIGMAPS, m.configmap("a"), keep={"uid": "metadata.uid", "v": "metadata.resourceVersion"})
bound = post(m.PODS, m.pod("a", {"nodeName": "nowhere"}), keep={"uid": "metadata.uid"})
held = post(m.CONFIGMAPS, m.configmap("a", finalizers=["a.b/c"]))
ENDING = "c-ending-of-a-namespace"

CASES = [
    case("delete-by-uid", make, delete(A, {"preconditions": {"uid": "another"}}), delete(A, {"preconditions": {"uid": "${uid}"}})),
    case("delete-by-version", make, patch(A, {"data": {"k": "w"}}), delete(A, {"preconditions": {"resourceVersion": "${v}"}}), delete(A)),
    case(
        "delete-answers",
        make,
        delete(A),
        post(m.BOATS, m.boat("a")),
        delete(f"{m.BOATS}/a"),
        post(m.SECRETS, m.named("s")),
        delete(f"{m.SECRETS}/s?propagationPolicy=Background&gracePeriodSeconds=0"),
        post(m.ACCOUNTS, m.named("t")),
        delete(f"{m.ACCOUNTS}/t"),
        post(m.SERVICES, m.service("s")),
        delete(f"{m.SERVICES}/s"),
    ),
    case(
        "delete-options-refused",
        make,
        delete(A, {"propagationPolicy": "Sometimes"}),
        delete(f"{A}?gracePeriodSeconds=x"),
        delete(A, {"propagationPolicy": "Orphan", "orphanDependents": True}),
        delete(A, {"gracePeriodSeconds": -1}),
        delete(A, b"{"),
    ),
    case(
        "finalizers-hold",
        held,
        delete(A),
        get(A),
        delete(A),
        patch(A, {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}}),
        patch(A, {"data": {"k": "w"}}),
        patch(A, {"metadata": {"finalizers": []}}),
        get(A),
    ),
    case(
        "finalizers-hold-custom-objects",
        post(m.BOATS, m.boat("a", finalizers=["a.b/c"])),
        delete(f"{m.BOATS}/a"),
        patch(f"{m.BOATS}/a", {"spec": {"length": 10}}),
        patch(f"{m.BOATS}/a", {"metadata": {"finalizers": None}}),
        get(f"{m.BOATS}/a"),
    ),
    case(
        "grace-of-bound-pods",
        bound,
        delete(POD),
        delete(POD),
        delete(POD, {"gracePeriodSeconds": 5}),
        get(POD),
        delete(POD, {"gracePeriodSeconds": 0, "preconditions": {"uid": "${uid}"}}),
        get(POD),
    ),
    case("grace-of-unbound-pods", post(m.PODS, m.pod("a")), delete(POD, {"gracePeriodSeconds": 60}), get(POD)),
    case("grace-of-finished-pods", bound, patch(f"{POD}/status", {"status": {"phase": "Succeeded"}}), delete(POD), get(POD)),
    case(
        "grace-of-one-s-own",
        post(m.PODS, m.pod("a", {"nodeName": "nowhere", "terminationGracePeriodSeconds": 7})),
        delete(POD),
        patch(f"{POD}/status", {"status": {"phase": "Failed"}}),
        patch(POD, {"metadata": {"labels": {"late": "yes"}}}),
    ),
    case(
        "foreground-adds-its-finalizer",
        held,
        delete(A, {"propagationPolicy": "Foreground"}),
        get(A, until={"metadata.finalizers": ["a.b/c"]}),
    ),
    case("orphan-adds-its-finalizer", held, delete(A, {"propagationPolicy": "Orphan"}), get(A, until={"metadata.finalizers": ["a.b/c"]})),
    case(
        "delete-collection",
        *[post(m.CONFIGMAPS, m.configmap(f"m{n}", labels={"n": str(n % 2)})) for n in range(4)],
        delete(f"{m.CONFIGMAPS}?labelSelector=n=1"),
        get(f"{m.CONFIGMAPS}?labelSelector=n"),
        delete(f"{m.BOATS}"),
        get(m.BOATS),
    ),
    case(
        "deleting-while-terminating", held, delete(A), delete(A, {"propagationPolicy": "Foreground"}), post(m.CONFIGMAPS, m.configmap("a"))
    ),
    case(
        "ending-of-a-namespace",
        post(m.CONFIGMAPS, m.configmap("a", finalizers=["a.b/c"])),
        post(m.BOATS, m.boat("a")),
        delete("/api/v1/namespaces/${ns}"),
        post(m.CONFIGMAPS, m.configmap("late")),
        post(m.BOATS, m.boat("late")),
        get(f"{m.BOATS}/a", until={"code": 404}),
        get(A, until={"metadata.deletionGracePeriodSeconds": 0}),
        delete("/api/v1/namespaces/${ns}", unseen=True),  # its answer shows how far the controller is
        patch(A, {"metadata": {"finalizers": None}}),
        get("/api/v1/namespaces/${ns}", until={"code": 404}),
        post(m.CONFIGMAPS, m.configmap("late")),
    ),
    case(
        "life-of-a-namespace",
        post("/api/v1/namespaces", m.named("c-second", labels={})),
        post("/api/v1/namespaces", m.named("c-second")),
        post("/api/v1/namespaces", m.named("not.a.label")),
        get("/api/v1/namespaces/c-second"),
        patch("/api/v1/namespaces/c-second", {"metadata": {"labels": {"x": "y"}}}),
        delete("/api/v1/namespaces/default"),
    ),
]
