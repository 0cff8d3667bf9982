"""The few objects of one RayService, and what becomes of them by its operator's actions; no control plane is behind them."""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, PODS, RAYCLUSTERS, SERVICES, Resource
from rayfleet.api.names import serve_service_name
from rayfleet.planning.actions import Action, AddFinalizer, Create, Delete, Fence, RemoveFinalizer
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.plan import StatusWrite
from rayfleet.sim.service_specs import NOW, document
from rayfleet.sim.store import merged


class Objects:
    """`now` is in seconds since 1970. `made`: names of all that was created."""

    def __init__(self, **given: Any) -> None:
        self.now = NOW
        self.service: dict[str, Any] | None = document(**given)
        self.clusters: dict[str, dict[str, Any]] = {}
        self.services: dict[str, dict[str, Any]] = {}
        self.gateways: dict[str, dict[str, Any]] = {}
        self.routes: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.made: list[str] = []
        self.statuses = 0
        self.serial = 1

    def crash_point(self) -> None:
        """Stories in which the operator dies take their chance here."""

    def after_write(self) -> None:
        """Whoever watches looks here."""

    def write_status(self, status: StatusWrite) -> None:
        if self.service is not None and self.service["metadata"]["resourceVersion"] == status.resource_version:
            self.change_service({"status": dict(status.patch)})
            self.statuses += 1
            self.after_write()

    def change_service(self, patch: dict[str, Any]) -> None:
        assert self.service is not None
        self.serial += 1
        self.service = merged(merged(self.service, patch), {"metadata": {"resourceVersion": str(self.serial)}})

    def carry(self, action: Action) -> bool:
        """False where the API refuses: the version, or the object, is another one."""
        if isinstance(action, Fence | AddFinalizer | RemoveFinalizer):
            return self.carry_on_owner(action)
        self.serial += 1
        place = self.place_of(action.resource)
        found = place.get(action.name)
        if isinstance(action, Create):
            if found is not None:
                return False
            self.made.append(action.name)
            meta = {"uid": f"uid-{action.name}-{self.serial}", "resourceVersion": str(self.serial), "creationTimestamp": rfc3339(self.now)}
            place[action.name] = {**action.manifest, "metadata": {**action.manifest["metadata"], **meta, "generation": 1}}
            return True
        if found is None or found["metadata"]["uid"] != action.uid:
            return isinstance(action, Delete)
        if isinstance(action, Delete):
            self.remove(action.resource, action.name)
            return True
        version = action.patch.get("metadata", {}).get("resourceVersion")
        if version not in (None, found["metadata"].get("resourceVersion")):
            return False
        generation = found["metadata"].get("generation", 0) + ("spec" in action.patch)
        place[action.name] = merged(
            merged(found, action.patch), {"metadata": {"resourceVersion": str(self.serial), "generation": generation}}
        )
        return True

    def carry_on_owner(self, action: Fence | AddFinalizer | RemoveFinalizer) -> bool:
        if self.service is None or self.service["metadata"]["resourceVersion"] != action.resource_version:
            return False
        if isinstance(action, Fence):
            if action.annotations:
                self.change_service({"metadata": {"annotations": dict(action.annotations)}})
            return True
        self.change_service({"metadata": {"finalizers": list(action.finalizers)}})
        if isinstance(action, RemoveFinalizer) and not action.finalizers:
            self.service = None
        return True

    def place_of(self, resource: Resource) -> dict[str, dict[str, Any]]:
        places = {RAYCLUSTERS: self.clusters, SERVICES: self.services, PODS: self.pods, GATEWAYS: self.gateways, HTTPROUTES: self.routes}
        return places[resource]

    def remove(self, resource: Resource, name: str) -> None:
        """An object goes, and the garbage collector takes its Pods and its Service."""
        del self.place_of(resource)[name]
        if resource == RAYCLUSTERS:
            self.services.pop(serve_service_name(name), None)
            self.pods = {pod: each for pod, each in self.pods.items() if each["metadata"]["labels"][labels.CLUSTER] != name}

    # what there is to see
    @property
    def names(self) -> list[str]:
        return sorted(self.clusters)

    @property
    def led_to(self) -> str:
        """The cluster that the serve Service leads to."""
        return str(self.services["shop-serve-svc"]["spec"]["selector"][labels.CLUSTER]) if "shop-serve-svc" in self.services else ""

    @property
    def weights(self) -> dict[str, int]:
        """By the HTTPRoute: in percent, by cluster."""
        backends = [each for route in self.routes.values() for each in route["spec"]["rules"][0]["backendRefs"]]
        return {each["name"].removesuffix("-serve-svc"): each["weight"] for each in backends}

    @property
    def status(self) -> dict[str, Any]:
        assert self.service is not None
        found: dict[str, Any] = self.service.get("status", {})
        return found

    def condition(self, type: str) -> tuple[str, str]:
        found = next(each for each in self.status["conditions"] if each["type"] == type)
        return found["status"], found["reason"]

    def message(self, type: str = "Ready") -> str:
        return str(next(each for each in self.status["conditions"] if each["type"] == type)["message"])
