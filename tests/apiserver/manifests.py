"""Objects to send."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = "/apis/sea.example/v1/namespaces/default/boats"


def pod(name: str = "a", **meta: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **meta},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


def configmap(name: str = "a", data: dict[str, str] | None = None, **meta: Any) -> Obj:
    return {"metadata": {"name": name, **meta}, "data": data or {"k": "v"}}


def owner(record: Obj, **rest: Any) -> Obj:
    meta = record["metadata"]
    return {"apiVersion": record["apiVersion"], "kind": record["kind"], "name": meta["name"], "uid": meta["uid"], **rest}


BOAT_SPEC: Obj = {
    "type": "object",
    "required": ["length"],
    "x-kubernetes-validations": [{"rule": "self.length >= size(self.title)", "message": "the title is longer than the boat"}],
    "properties": {
        "title": {"type": "string", "default": "nemo", "maxLength": 20},
        "length": {"type": "integer", "minimum": 1},
        "kind": {
            "type": "string",
            "enum": ["sail", "motor"],
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed"}],
        },
        "draft": {"x-kubernetes-int-or-string": True},
        "home": {"type": "string", "nullable": True},
        "crew": {
            "type": "array",
            "maxItems": 8,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "maxLength": 20},
                    "rank": {"type": "string", "default": "sailor", "maxLength": 20},
                },
                "x-kubernetes-validations": [{"rule": "self.rank == oldSelf.rank", "message": "ranks are for life"}],
            },
        },
        "cargo": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "flags": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def boats(spec: Obj | None = None) -> Obj:
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec or BOAT_SPEC,
            "status": {"type": "object", "properties": {"afloat": {"type": "boolean"}, "port": {"type": "string"}}},
        },
    }
    version = {
        "served": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Length", "type": "integer", "jsonPath": ".spec.length"},
            {"name": "Port", "type": "string", "jsonPath": ".status.port", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    versions = [{**version, "name": "v1", "storage": True}, {**version, "name": "v1alpha1", "storage": False, "deprecated": True}]
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList", "shortNames": ["bo"], "categories": ["all"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example"},
        "spec": {"group": "sea.example", "scope": "Namespaced", "names": names, "versions": versions},
    }


def boat(name: str = "b", **spec: Any) -> Obj:
    return {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"length": 9, **spec}}
