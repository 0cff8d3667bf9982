"""Slim types and manifests that the tests of the runtime share."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.meta import ObjectMeta, Resource

THINGS = Resource("example.com", "v1", "things", "Thing")


class ThingSpec(msgspec.Struct, frozen=True, gc=False):
    replicas: int = 0
    template: msgspec.Raw = msgspec.Raw()


class ThingStatus(msgspec.Struct, frozen=True, gc=False):
    pods: int = 0
    phase: str = ""
    trouble: str = ""


class Thing(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: ThingSpec = ThingSpec()
    status: ThingStatus = ThingStatus()


class PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    status: PodStatus = PodStatus()


def thing(name: str, replicas: int = 1, namespace: str = "default") -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "template": {"x": "y"}},
    }


def pod(name: str, owner: str = "", namespace: str = "default", **labels: str) -> dict[str, Any]:
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": owner, "controller": True}
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels}
    return {"metadata": meta | ({"ownerReferences": [reference]} if owner else {}), "status": {"phase": "Running"}}
