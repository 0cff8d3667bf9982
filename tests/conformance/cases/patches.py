"""JSON, merge and strategic merge patches."""

from __future__ import annotations

from tests.conformance.case import APPLY, JSON_PATCH, MERGE, STRATEGIC, case, get, patch, post
from tests.conformance.cases import manifests as m

MAP, POD, BOAT, NODE = f"{m.CONFIGMAPS}/a", f"{m.PODS}/a", f"{m.BOATS}/a", f"{m.SERVICES}/a"
make_map = post(m.CONFIGMAPS, m.configmap("a", {"k": "v", "l": "w"}, labels={"x/y": "1", "z": "2"}, finalizers=["a.b/c", "d.e/f"]))
make_boat = post(m.BOATS, {**m.boat("a"), "spec": {"length": 9, "crew": [{"name": "x"}, {"name": "y"}], "flags": {"a": "b"}}})
make_service = post(m.SERVICES, m.service("a", {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}))
make_pod = post(m.PODS, m.pod("a", {"tolerations": [{"key": "a", "operator": "Exists"}]}))


def edits(path: str, *operations: dict[str, object]) -> list[object]:
    return [patch(path, [operation], JSON_PATCH) for operation in operations]


CASES = [
    case(
        "json-patch-members",
        make_map,
        *edits(
            MAP,
            {"op": "add", "path": "/data/n", "value": "1"},
            {"op": "replace", "path": "/data/k", "value": "2"},
            {"op": "remove", "path": "/data/l"},
            {"op": "remove", "path": "/metadata/labels/x~1y"},
            {"op": "copy", "from": "/data/k", "path": "/data/c"},
            {"op": "move", "from": "/data/c", "path": "/data/d"},
        ),
    ),
    case(
        "json-patch-lists",
        make_boat,
        *edits(
            BOAT,
            {"op": "add", "path": "/spec/crew/0", "value": {"name": "first"}},
            {"op": "add", "path": "/spec/crew/-", "value": {"name": "last"}},
            {"op": "replace", "path": "/spec/crew/1/rank", "value": "cook"},
            {"op": "remove", "path": "/spec/crew/0"},
            {"op": "remove", "path": "/spec/crew/9"},
        ),
    ),
    case(
        "json-patch-tests",
        make_map,
        patch(MAP, [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}], JSON_PATCH),
        *edits(MAP, {"op": "test", "path": "/data/l", "value": "no"}, {"op": "test", "path": "/data/zzz", "value": "no"}),
    ),
    case(
        "json-patch-refused",
        make_map,
        *edits(
            MAP,
            {"op": "remove", "path": "/data/absent"},
            {"op": "replace", "path": "/data/absent", "value": "1"},
            {"op": "add", "path": "/no/such", "value": "1"},
            {"op": "jump", "path": "/data/k"},
            {"op": "add", "path": "/data/k", "value": 1},
        ),
        patch(MAP, {"op": "add"}, JSON_PATCH),
        patch(MAP, b"[", JSON_PATCH),
    ),
    case(
        "json-patch-is-all-or-nothing",
        make_map,
        patch(MAP, [{"op": "remove", "path": "/data/k"}, {"op": "remove", "path": "/data/zz"}], JSON_PATCH),
        get(MAP),
    ),
    case(
        "merge-patch-members",
        make_map,
        patch(MAP, {"data": {"k": None, "n": "1"}}),
        patch(MAP, {"data": None}),
        patch(MAP, {"metadata": {"labels": {"z": None}}}),
        patch(MAP, {"metadata": {"finalizers": None}}),
    ),
    case(
        "merge-patch-lists",
        make_boat,
        patch(BOAT, {"spec": {"crew": [{"name": "z"}]}}),
        patch(BOAT, {"spec": {"crew": []}}),
        patch(BOAT, {"spec": {"flags": {"a": None, "c": "d"}}}),
    ),
    case(
        "merge-patch-refused",
        make_map,
        patch(MAP, b"{"),
        patch(MAP, []),
        patch(MAP, {"data": {"k": 1}}),
        patch(MAP, {"data": []}),
        patch(MAP, {"kind": "Secret"}),
        patch(MAP, {"metadata": {"resourceVersion": "abc"}}),
    ),
    case(
        "strategic-patch-ports",
        make_service,
        patch(NODE, {"spec": {"ports": [{"port": 81, "name": "renamed"}]}}, STRATEGIC),
        patch(NODE, {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}, STRATEGIC),
        patch(NODE, {"spec": {"ports": [{"name": "c", "port": 82}], "$setElementOrder/ports": [{"port": 82}, {"port": 81}]}}, STRATEGIC),
        patch(NODE, {"spec": {"ports": [{"$patch": "replace"}, {"name": "only", "port": 90}]}}, STRATEGIC),
    ),
    case(
        "strategic-patch-maps",
        make_map,
        patch(MAP, {"data": {"k": None, "$patch": "merge"}}, STRATEGIC),
        patch(MAP, {"data": {"$patch": "replace", "only": "1"}}, STRATEGIC),
        patch(MAP, {"metadata": {"labels": {"$patch": "delete"}}}, STRATEGIC),
        patch(MAP, {"data": {"$patch": "explode"}}, STRATEGIC),
    ),
    case(
        "strategic-patch-sets",
        make_map,
        patch(MAP, {"metadata": {"finalizers": ["g.h/i"]}}, STRATEGIC),
        patch(MAP, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c", "g.h/i"]}}, STRATEGIC),
        patch(MAP, {"metadata": {"finalizers": ["j.k/l"], "$setElementOrder/finalizers": ["j.k/l", "d.e/f"]}}, STRATEGIC),
    ),
    case(
        "strategic-patch-pod",
        make_pod,
        patch(POD, {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}, STRATEGIC),
        patch(POD, {"spec": {"containers": [{"image": "busybox:2"}]}}, STRATEGIC),
        patch(f"{POD}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STRATEGIC),
        patch(f"{POD}/status", {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}}, STRATEGIC),
        patch(f"{POD}/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, STRATEGIC),
    ),
    case("strategic-patch-of-custom-kinds", make_boat, patch(BOAT, {"spec": {"length": 10}}, STRATEGIC)),
    case(
        "strategic-patch-of-owners",
        post(m.CONFIGMAPS, m.configmap("o"), keep={"uid": "metadata.uid"}),
        post(m.CONFIGMAPS, m.configmap("a", ownerReferences=[m.owner("ConfigMap", "o")])),
        patch(MAP, {"metadata": {"ownerReferences": [{"uid": "${uid}", "controller": True}]}}, STRATEGIC),
        patch(MAP, {"metadata": {"uid": "${uid}", "ownerReferences": [{"uid": "${uid}", "$patch": "delete"}]}}, STRATEGIC),
        patch(MAP, {"metadata": {"ownerReferences": [{"uid": "${uid}", "$patch": "delete"}]}}, STRATEGIC),
    ),
    case(
        "apply-patch-creates-and-merges",
        patch(f"{MAP}?fieldManager=me", {"apiVersion": "v1", "kind": "ConfigMap", **m.configmap("a")}, APPLY),
        patch(f"{MAP}?fieldManager=me", {"apiVersion": "v1", "kind": "ConfigMap", **m.configmap("a", {"k": "w"})}, APPLY),
        patch(MAP, {"apiVersion": "v1", "kind": "ConfigMap", **m.configmap("a")}, APPLY),
    ),
    case("patch-media-of-custom-kinds", make_boat, patch(BOAT, {"spec": {"length": 10}}, MERGE), patch(BOAT, {}, "application/json")),
]
