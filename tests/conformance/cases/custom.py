"""Custom objects: schema, rules, defaults, pruning, status, versions."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import case, get, patch, post, put
from tests.conformance.cases import manifests as m

A = f"{m.BOATS}/a"
OLD = "/apis/sea.example/v1alpha1/namespaces/${ns}/boats"


def boat(**spec: Any) -> dict[str, Any]:
    return {**m.boat("a"), "spec": spec}


def boats(name: str, *specs: dict[str, Any]) -> Any:
    return case(name, *(post(m.BOATS, boat(**spec)) for spec in specs))


CASES = [
    boats(
        "schema-types",
        {"length": "9"},
        {"length": 9.5},
        {"length": 9, "crew": {}},
        {"length": 9, "title": 5},
        {"length": 9, "flags": {"a": 1}},
        {"length": 9, "home": None},
        {"length": 9, "draft": True},
    ),
    boats("schema-limits", {"length": 0}, {"length": 50, "title": "x" * 30}, {"length": 9, "kind": "steam"}, {}),
    boats("schema-required", {"length": 9, "crew": [{}]}),
    case("schema-no-spec", post(m.BOATS, {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "a"}})),
    boats("schema-list-map-keys", {"length": 9, "crew": [{"name": "x"}, {"name": "x"}]}),
    boats("rules", {"length": 3, "title": "longer than that"}),
    boats("defaults", {"length": 9, "crew": [{"name": "x"}], "title": None}),
    boats(
        "pruning",
        {
            "length": 9,
            "colour": "red",
            "crew": [{"name": "x", "age": 9}],
            "cargo": {"any": {"thing": [1]}},
            "template": {"metadata": {"labels": {"a": "b"}, "nonsense": 1}, "spec": {"any": 1}},
        },
    ),
    case("pruning-of-metadata", post(m.BOATS, {**m.boat("a", nonsense=1), "colour": "red"})),
    case(
        "rules-of-transition",
        post(m.BOATS, boat(length=9, kind="sail", crew=[{"name": "x", "rank": "cook"}])),
        patch(A, {"spec": {"kind": "motor"}}),
        patch(A, {"spec": {"crew": [{"name": "x", "rank": "captain"}]}}),
        patch(A, {"spec": {"crew": [{"name": "y", "rank": "captain"}]}}),
        patch(A, {"spec": {"kind": None}}),
        get(A),
    ),
    case(
        "status-is-apart",
        post(m.BOATS, {**m.boat("a"), "status": {"port": "Bergen"}}),
        patch(A, {"status": {"port": "Oslo"}}),
        patch(f"{A}/status", {"status": {"port": "Oslo"}, "spec": {"length": 1}}),
        patch(f"{A}/status", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["a.b/c"]}}),
        get(A),
        get(f"{A}/status"),
    ),
    case(
        "status-schema",
        post(m.BOATS, m.boat("a")),
        patch(f"{A}/status", {"status": {"afloat": "yes"}}),
        patch(f"{A}/status", {"status": {"afloat": True, "colour": "red"}}),
        patch(f"{A}/status", {"status": None}),
    ),
    case(
        "status-replaced",
        post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"}),
        put(f"{A}/status", {**m.boat("a", 99, resourceVersion="${v}"), "status": {"port": "Oslo"}}),
        put(f"{A}/status", {**m.boat("a", resourceVersion="${v}"), "status": {}}),
    ),
    case("ratcheting", post(m.BOATS, m.boat("a")), patch(A, {"spec": {"length": 0}}), patch(A, {"metadata": {"labels": {"x": "y"}}})),
    case(
        "two-versions",
        post(m.BOATS, m.boat("a")),
        get(f"{OLD}/a"),
        post(OLD, {**m.boat("b"), "apiVersion": "sea.example/v1alpha1"}),
        get(f"{m.BOATS}/b"),
        patch(f"{OLD}/a", {"spec": {"length": 10}}),
        get(OLD),
    ),
    case(
        "custom-metadata",
        post(m.BOATS, m.boat("a", labels={"a": "b c"})),
        post(m.BOATS, m.boat("Not-A-Name")),
        post(m.BOATS, m.boat("a", annotations={"x": "y"}, generation=7, selfLink="/x")),
        patch(A, {"metadata": {"labels": {"n": 5}}}),
    ),
]
