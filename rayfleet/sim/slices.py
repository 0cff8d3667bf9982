"""The EndpointSlice controller of the simulated control plane, for Services of Serve; and that of Gateways, which takes every route."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import ENDPOINTSLICES, GATEWAYS, HTTPROUTES, PODS, SERVICES, Key, Resource
from rayfleet.kube.errors import ApiError
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.kubelet import is_ready, key_of
from rayfleet.sim.store import TERMINAL, Change, Obj, Request, Store

CONTROLLER, GATEWAY = "endpointslice-controller", "gateway-controller"


class Slices:
    """`delay(dice)` is how far it is behind."""

    def __init__(self, clock: VirtualClock, store: Store, dice: Random) -> None:
        self.clock = clock
        self.store = store
        self.dice = dice
        self.delay: Callable[[Random], float] = lambda dice: 0.2
        self.due: set[Key] = set()

    def hear(self, change: Change) -> None:
        if change.resource == SERVICES and change.type != "DELETED":
            self.plan(change.new)
        elif change.resource == PODS and labels.SERVE in (change.new["metadata"].get("labels") or {}):
            for service in self.store.all(SERVICES):
                if any(pod is not None and leads(service, pod) for pod in (change.old, change.new)):
                    self.plan(service)
        elif change.resource in (GATEWAYS, HTTPROUTES) and change.type != "DELETED":
            self.clock.call_later(self.delay(self.dice), lambda: self.take(change.resource, key_of(change.new)))

    def plan(self, service: Obj) -> None:
        key = key_of(service)
        if labels.SERVE in (service["metadata"].get("labels") or {}) and key not in self.due:
            self.due.add(key)
            self.clock.call_later(self.delay(self.dice), lambda: self.write(key))

    def write(self, key: Key) -> None:
        self.due.discard(key)
        service = self.store.get(SERVICES, key)
        if service is None:
            return
        name = Key(key.namespace, f"{key.name}-x{service['metadata']['uid'][:4]}")
        ends = [endpoint(pod) for pod in self.store.all(PODS) if leads(service, pod) and pod["status"].get("podIP")]
        if self.store.get(ENDPOINTSLICES, name) is None:
            owner = {"apiVersion": "v1", "kind": "Service", "name": key.name, "uid": service["metadata"]["uid"], "controller": True}
            meta = {"labels": service["metadata"]["labels"], "ownerReferences": [owner]}
            self.store.do(Request(CONTROLLER, "create", ENDPOINTSLICES, *name, body={"metadata": meta, "endpoints": ends}))
        else:
            self.store.do(Request(CONTROLLER, "patch", ENDPOINTSLICES, *name, body={"endpoints": ends}))

    def ready(self, service: Key) -> list[str]:
        """Names of the Pods that requests to the Service are sent to."""
        found = self.store.get(SERVICES, service)
        slices = self.store.owned(found["metadata"]["uid"], ENDPOINTSLICES) if found else ()
        return [end["targetRef"]["name"] for each in slices for end in each["endpoints"] if end["conditions"]["ready"]]

    def take(self, resource: Resource, key: Key) -> None:
        found = self.store.get(resource, key)
        if found is None:
            return
        generation = found["metadata"]["generation"]
        types = ("Accepted", "Programmed") if resource == GATEWAYS else ("Accepted", "ResolvedRefs")
        told: dict[str, Any] = {"conditions": [{"type": each, "status": "True", "observedGeneration": generation} for each in types]}
        body = {"status": told if resource == GATEWAYS else {"parents": [told]}}
        try:
            self.store.do(Request(GATEWAY, "patch", resource, *key, body=body, subresource="status"))
        except ApiError:
            return


def leads(service: Obj, pod: Obj) -> bool:
    selector, marks = service["spec"].get("selector") or {}, pod["metadata"].get("labels") or {}
    return bool(selector) and selector.items() <= marks.items() and service["metadata"]["namespace"] == pod["metadata"]["namespace"]


def endpoint(pod: Obj) -> Obj:
    going = bool(pod["metadata"].get("deletionTimestamp"))
    ready = is_ready(pod) and not going and pod["status"].get("phase") not in TERMINAL
    return {
        "conditions": {"ready": ready, "terminating": going},
        "targetRef": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
    }
