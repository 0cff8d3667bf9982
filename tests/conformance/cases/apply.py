"""Server-side apply: who owns which field, and what becomes of fields that nobody owns any more."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import APPLY, JSON_PATCH, MERGE, Step, case, get, patch, post, put
from tests.conformance.cases import manifests as m

MAP, POD, SERVICE, BOAT, JOB = f"{m.CONFIGMAPS}/a", f"{m.PODS}/a", f"{m.SERVICES}/a", f"{m.BOATS}/a", f"{m.JOBS}/a"


def apply(path: str, body: dict[str, Any], who: str = "me", query: str = "", **more: Any) -> Step:
    return patch(f"{path}?fieldManager={who}{query}", body, APPLY, **more)


def kind(version: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": name, **body}


def a_map(data: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"metadata": {"name": "a", **meta}}
    return kind("v1", "ConfigMap", body if data is None else {**body, "data": data})


def a_service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return kind("v1", "Service", {"metadata": {"name": "a"}, "spec": {"ports": list(ports), **spec}})


def a_pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return kind("v1", "Pod", {"metadata": {"name": "a"}, "spec": {"containers": list(containers), **spec}})


def a_boat(spec: dict[str, Any], **body: Any) -> dict[str, Any]:
    return kind("sea.example/v1", "Boat", {"metadata": {"name": "a"}, "spec": spec, **body})


FORCE = "&force=true"

CASES = [
    case(
        "apply-takes-back-what-is-left-out",
        apply(MAP, a_map({"k": "v", "l": "w"}, labels={"x": "1"}, annotations={"n": "1"}, finalizers=["a.b/c"])),
        apply(MAP, a_map({"k": "v"}, labels={"y": "1"})),
        apply(MAP, a_map()),
        apply(MAP, a_map()),
    ),
    case(
        "apply-shares-what-two-say-alike",
        apply(MAP, a_map({"k": "v"})),
        apply(MAP, a_map({"k": "v", "l": "w"}), "you"),
        apply(MAP, a_map()),
        apply(MAP, a_map(), "you"),
    ),
    case(
        "apply-conflicts",
        apply(MAP, a_map({"k": "v", "l": "w", "m": "x"})),
        apply(MAP, a_map({"k": "other"}), "you"),
        apply(MAP, a_map({"k": "other", "l": "other"}), "you"),
        apply(MAP, a_map({"n": "new"}), "they"),
        apply(MAP, a_map({"k": "2", "n": "2"}), "you", FORCE),
        apply(MAP, a_map({"k": "v", "l": "w", "m": "x"})),
        apply(MAP, a_map({"l": "w", "m": "x"})),
    ),
    case(
        "apply-after-updates",
        apply(MAP, a_map({"k": "v", "l": "w"})),
        patch(f"{MAP}?fieldManager=editor", {"data": {"k": "edited", "new": "1"}}, MERGE),
        apply(MAP, a_map({"k": "v", "l": "w"})),
        apply(MAP, a_map({"l": "w", "new": "2"})),
        apply(MAP, a_map({"k": "v", "l": "w"}), query=FORCE),
        patch(f"{MAP}?fieldManager=editor", {"data": {"l": None}}, MERGE),
        get(MAP),
    ),
    case(
        "apply-refusals",
        apply(MAP, a_map({"k": "v"}), query="&force=maybe"),
        patch(MAP, a_map({"k": "v"}), APPLY),
        apply(MAP, a_map({"k": "v"}, name="b")),
        apply(MAP, a_map({"k": "v"}, managedFields=[{"manager": "x", "operation": "Apply"}])),
        apply(MAP, kind("v1", "Secret", {"metadata": {"name": "a"}})),
        apply(MAP, {"metadata": {"name": "a"}}),
        apply(MAP, {"apiVersion": "v1", "metadata": {"name": "a"}}),
        apply(MAP, a_map({"k": 1})),
        apply(MAP, {**a_map({"k": "v"}), "nonsense": 1}),
        patch(f"{MAP}?fieldManager=me&force=true", {"data": {}}, MERGE),
        apply(MAP, a_map({"k": "v"}, resourceVersion="1")),
        apply(MAP, a_map({"k": "v"}, uid="00000000-0000-0000-0000-000000000001")),
        apply(MAP, a_map({"k": "v"}), "a" * 129),
    ),
    case(
        "apply-with-preconditions",
        apply(MAP, a_map({"k": "v"}), keep={"version": "metadata.resourceVersion", "uid": "metadata.uid"}),
        apply(MAP, a_map({"k": "w"}, resourceVersion="${version}", uid="${uid}")),
        apply(MAP, a_map({"k": "x"}, resourceVersion="${version}")),
        apply(MAP, a_map({"k": "x"}), query="&dryRun=All"),
        get(MAP),
    ),
    case(
        "apply-managed-fields-by-hand",
        apply(MAP, a_map({"k": "v"})),
        patch(MAP, {"metadata": {"managedFields": []}}, MERGE),
        patch(MAP, {"metadata": {"managedFields": [{}]}}, MERGE),
        apply(MAP, a_map({"l": "w"})),
        patch(
            MAP,
            [{"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "by-hand", "operation": "Nonsense"}]}],
            JSON_PATCH,
        ),
    ),
    case(
        "apply-lists-by-key",
        apply(SERVICE, a_service({"name": "a", "port": 80}, {"name": "b", "port": 81}, selector={"app": "a"})),
        apply(SERVICE, a_service({"name": "c", "port": 82}), "you"),
        apply(SERVICE, a_service({"name": "d", "port": 80}), "you"),
        apply(SERVICE, a_service({"name": "b", "port": 81}, {"name": "a", "port": 80, "targetPort": 8080}, selector={"app": "a"})),
        apply(SERVICE, a_service({"name": "b", "port": 81}, selector={"app": "b"})),
        apply(SERVICE, a_service({"name": "x", "port": 81, "protocol": "UDP"}, {"name": "b", "port": 81}, selector={"app": "b"})),
        apply(SERVICE, a_service({"name": "x", "port": 90}, {"name": "y", "port": 90}), "them"),
    ),
    case(
        "apply-pods",
        apply(
            POD,
            a_pod(
                {
                    "name": "main",
                    "image": "busybox:1",
                    "args": ["a", "b"],
                    "env": [{"name": "A", "value": "1"}],
                    "ports": [{"containerPort": 80}],
                },
                automountServiceAccountToken=False,
                volumes=[{"name": "v", "emptyDir": {}}],
                tolerations=[{"key": "a", "operator": "Exists"}],
            ),
        ),
        apply(POD, a_pod({"name": "main", "image": "busybox:2"}), "you"),
        apply(POD, a_pod({"name": "main", "image": "busybox:2"}), "you", FORCE),
        patch(
            f"{POD}/status?fieldManager=kubelet",
            {"status": {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}},
            MERGE,
        ),
        apply(f"{POD}/status", kind("v1", "Pod", {"metadata": {"name": "a"}, "status": {"phase": "Failed"}}), "you"),
        apply(f"{POD}/status", kind("v1", "Pod", {"metadata": {"name": "a"}, "status": {"message": "m"}}), "you"),
    ),
    case(
        "apply-sets-and-owners",
        post(m.CONFIGMAPS, m.configmap("o"), keep={"uid": "metadata.uid"}),
        apply(MAP, a_map(finalizers=["a.b/c", "d.e/f"], ownerReferences=[m.owner("ConfigMap", "o")])),
        apply(MAP, a_map(finalizers=["g.h/i", "a.b/c"]), "you"),
        apply(MAP, a_map(finalizers=["d.e/f"])),
        apply(MAP, a_map(finalizers=["d.e/f", "d.e/f"])),
    ),
    case(
        "apply-custom-kinds",
        apply(BOAT, a_boat({"length": 9, "crew": [{"name": "x", "rank": "cook"}, {"name": "y"}], "flags": {"a": "b"}})),
        apply(BOAT, a_boat({"length": 10}), "you"),
        apply(BOAT, a_boat({"length": 9, "crew": [{"name": "z"}]}), "you"),
        apply(BOAT, a_boat({"length": 9, "flags": {"c": "d"}})),
        apply(BOAT, a_boat({"length": 9, "nonsense": 1})),
        apply(BOAT, a_boat({"length": "long"})),
        get(BOAT, keep={"version": "metadata.resourceVersion"}),
        put(f"{BOAT}?fieldManager=putter", m.boat("a", 12, resourceVersion="${version}")),
        apply(BOAT, a_boat({"length": 9})),
    ),
    case(
        "apply-custom-status",
        apply(BOAT, a_boat({"length": 9}, status={"afloat": True})),
        apply(f"{BOAT}/status", a_boat({"length": 12}, status={"afloat": True}), "harbour"),
        apply(f"{BOAT}/status", a_boat({"length": 12}, status={"afloat": False}), "me"),
        apply(BOAT, a_boat({"length": 10})),
        get(BOAT),
    ),
    case(
        "apply-jobs",
        apply(
            JOB,
            kind(
                "batch/v1",
                "Job",
                {
                    "metadata": {"name": "a"},
                    "spec": {
                        "managedBy": "example.com/nobody",  # else its controller writes to it meanwhile
                        "suspend": True,
                        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}},
                    },
                },
            ),
        ),
        apply(JOB, kind("batch/v1", "Job", {"metadata": {"name": "a"}, "spec": {"suspend": False, "parallelism": 1}}), "queue"),
        apply(JOB, kind("batch/v1", "Job", {"metadata": {"name": "a"}, "spec": {"parallelism": 2}}), "queue"),
    ),
]
