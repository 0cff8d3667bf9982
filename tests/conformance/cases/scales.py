"""The scale subresource of custom kinds."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import APPLY, JSON_PATCH, STRATEGIC, TABLE, case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m
from tests.conformance.definitions import definition

SCALED = {"specReplicasPath": ".spec.crew.number", "statusReplicasPath": ".status.aboard", "labelSelectorPath": ".status.selector"}
CREW = {"type": "object", "properties": {"number": {"type": "integer", "minimum": 0, "maximum": 9, "default": 2}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"crew": CREW, "name": {"type": "string"}}},
        "status": {"type": "object", "properties": {"aboard": {"type": "integer"}, "selector": {"type": "string"}}},
    },
}
FERRIES = definition("scale.example", "ferries", "Ferry", schema=SCHEMA, subresources={"status": {}, "scale": SCALED})
BARE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
RAFTS = definition("scale.example", "rafts", "Raft", subresources={"scale": BARE})
DEFINITIONS = [FERRIES, RAFTS]
"""both servers have them from the start"""
PATH = "/apis/scale.example/v1/namespaces/${ns}/ferries"
F = f"{PATH}/a"


def ferry(name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scale.example/v1", "kind": "Ferry", "metadata": {"name": name}, "spec": spec}


def scale(replicas: Any, name: str = "a", **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": "${ns}", **meta},
        "spec": {"replicas": replicas},
    }


here = post(PATH, ferry(crew={"number": 3}), keep={"v": "metadata.resourceVersion"})
aboard = patch(f"{F}/status", {"status": {"aboard": 1, "selector": "a=b"}}, keep={"v": "metadata.resourceVersion"})


def ferries(name: str, *steps: Any) -> Any:
    return case(name, here, *steps)


CASES = [
    ferries(
        "scale-is-read",
        get(f"{F}/scale"),
        aboard,
        get(f"{F}/scale"),
        get(f"{PATH}/absent/scale"),
        get("/apis/scale.example/v1"),
    ),
    ferries(
        "scale-is-replaced",
        aboard,
        put(f"{F}/scale", scale(5, resourceVersion="${v}")),
        get(F),
        put(f"{F}/scale", scale(6, resourceVersion="${v}")),
        put(f"{F}/scale", scale(7)),
        put(f"{F}/scale", scale(7)),
        put(f"{F}/scale?dryRun=All", scale(8)),
        get(f"{F}/scale"),
    ),
    ferries("table-of-a-scale", get(f"{F}/scale", headers={"Accept": TABLE})),
    ferries(
        "scale-is-patched",
        patch(f"{F}/scale", {"spec": {"replicas": 4}}),
        patch(f"{F}/scale", [{"op": "replace", "path": "/spec/replicas", "value": 5}], JSON_PATCH),
        patch(f"{F}/scale", {"spec": {"replicas": 6}}, STRATEGIC),
        patch(f"{F}/scale", {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 9}}),
        patch(f"{F}/scale", {"spec": None}),
        get(F),
    ),
    ferries(
        "scale-is-applied",
        patch(f"{F}/scale?fieldManager=me", scale(4), APPLY),
        patch(f"{F}/scale?fieldManager=you", scale(5), APPLY),
        patch(f"{F}/scale?fieldManager=you&force=true", scale(5), APPLY),
        get(F),
    ),
    ferries(
        "scales-refused",
        put(f"{F}/scale", scale(-1)),
        put(f"{F}/scale", scale(99)),
        put(f"{F}/scale", scale("many")),
        put(f"{F}/scale", scale(1, "b")),
        put(f"{F}/scale", {**scale(1), "apiVersion": "v1"}),
        put(f"{F}/scale", ferry(crew={"number": 1})),
        put(f"{F}/scale", {"metadata": {"name": "a"}}),
        put(f"{PATH}/absent/scale", scale(1, "absent")),
        patch(f"{PATH}/absent/scale", {"spec": {"replicas": 1}}),
        post(f"{F}/scale", scale(1)),
        delete(f"{F}/scale"),
        get(f"{m.BOATS}/a/scale"),
    ),
    case(
        "scale-of-what-says-no-number",
        post(
            "/apis/scale.example/v1/namespaces/${ns}/rafts", {"apiVersion": "scale.example/v1", "kind": "Raft", "metadata": {"name": "a"}}
        ),
        get("/apis/scale.example/v1/namespaces/${ns}/rafts/a/scale"),
        patch("/apis/scale.example/v1/namespaces/${ns}/rafts/a/scale", {"spec": {"replicas": 3}}),
        put("/apis/scale.example/v1/namespaces/${ns}/rafts/a/scale", scale(3)),
        get("/apis/scale.example/v1/namespaces/${ns}/rafts/a/scale"),
        get("/apis/scale.example/v1/namespaces/${ns}/rafts/a"),
    ),
]
