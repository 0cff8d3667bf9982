"""Garbage collection: what becomes of dependents, and of those whose owner never was."""

from __future__ import annotations

from tests.conformance.case import case, delete, get, patch, post
from tests.conformance.cases import manifests as m

OWNER, CHILD = f"{m.CONFIGMAPS}/owner", f"{m.CONFIGMAPS}/child"
make = post(m.CONFIGMAPS, m.configmap("owner"), keep={"uid": "metadata.uid"})
REF = m.owner("ConfigMap", "owner")
GONE = "00000000-0000-4000-8000-000000000000"


def child(*references: object, **meta: object) -> object:
    return post(m.CONFIGMAPS, m.configmap("child", ownerReferences=list(references), **meta))


CASES = [
    case(
        "garbage-in-the-background", make, child(REF), delete(OWNER, {"propagationPolicy": "Background"}), get(CHILD, until={"code": 404})
    ),
    case("garbage-by-default", make, child(REF), delete(OWNER), get(CHILD, until={"code": 404})),
    case(
        "garbage-in-the-foreground",
        make,
        child({**REF, "blockOwnerDeletion": True}, finalizers=["a.b/c"]),
        delete(OWNER, {"propagationPolicy": "Foreground"}),
        get(CHILD, until={"metadata.deletionGracePeriodSeconds": 0}),
        get(OWNER),
        patch(CHILD, {"metadata": {"finalizers": None}}),
        get(OWNER, until={"code": 404}),
    ),
    case(
        "garbage-in-the-foreground-unblocked",
        make,
        child(REF, finalizers=["a.b/c"]),
        delete(OWNER, {"propagationPolicy": "Foreground"}),
        get(OWNER, until={"code": 404}),
        get(CHILD, until={"metadata.deletionGracePeriodSeconds": 0}),
    ),
    case("orphans-stay", make, child(REF), delete(OWNER, {"propagationPolicy": "Orphan"}), get(OWNER, until={"code": 404}), get(CHILD)),
    case("garbage-of-absent-owners", child(m.owner("ConfigMap", "never", GONE)), get(CHILD, until={"code": 404})),
    case("garbage-of-a-namesake", make, child(m.owner("ConfigMap", "owner", GONE)), get(CHILD, until={"code": 404}), get(OWNER)),
    case(
        "one-of-two-owners-lives",
        make,
        post(m.CONFIGMAPS, m.configmap("other"), keep={"other": "metadata.uid"}),
        child(REF, m.owner("ConfigMap", "other", "${other}")),
        delete(OWNER),
        get(CHILD, until={"metadata.ownerReferences[1].uid": "<absent>"}),
    ),
    case(
        "garbage-across-kinds",
        post(m.BOATS, m.boat("owner"), keep={"uid": "metadata.uid"}),
        post(m.PODS, m.pod("child", ownerReferences=[m.owner("Boat", "owner", version="sea.example/v1", controller=True)])),
        post(m.SERVICES, m.service("child", ownerReferences=[m.owner("Boat", "owner", version="sea.example/v1", controller=True)])),
        delete(f"{m.BOATS}/owner"),
        get(f"{m.PODS}/child", until={"code": 404}),
        get(f"{m.SERVICES}/child", until={"code": 404}),
    ),
    case(
        "garbage-chains",
        post(m.BOATS, m.boat("top"), keep={"uid": "metadata.uid"}),
        post(
            m.CONFIGMAPS,
            m.configmap("owner", ownerReferences=[m.owner("Boat", "top", version="sea.example/v1")]),
            keep={"uid": "metadata.uid"},
        ),
        child(REF),
        delete(f"{m.BOATS}/top"),
        get(OWNER, until={"code": 404}),
        get(CHILD, until={"code": 404}),
    ),
    case(
        "cluster-wide-owners",
        post("/api/v1/nodes", m.named("conformance-owner"), keep={"uid": "metadata.uid"}),
        child(m.owner("Node", "conformance-owner")),
        delete("/api/v1/nodes/conformance-owner"),
        get(CHILD, until={"code": 404}),
    ),
    case(
        "bound-children-get-their-grace",
        make,
        post(m.PODS, m.pod("child", {"nodeName": "nowhere"}, ownerReferences=[REF])),
        delete(OWNER),
        get(f"{m.PODS}/child", until={"metadata.deletionGracePeriodSeconds": 30}),
    ),
    case(
        "an-owner-added-later",
        child(),
        patch(CHILD, {"metadata": {"ownerReferences": [m.owner("ConfigMap", "never", GONE)]}}),
        get(CHILD, until={"code": 404}),
    ),
]
