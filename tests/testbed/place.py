"""A namespace of one test, and what stands in it."""

from __future__ import annotations

from itertools import count
from typing import Any

from testbed.control_plane import ControlPlane
from tests.local.waiting import eventually

serial = count()
WITHIN = 40.0


class Place:
    """`make` it; `remove` it with all that it holds."""

    def __init__(self, plane: ControlPlane, name: str = "") -> None:
        self.plane = plane
        self.name = name or f"test-{next(serial)}"

    def make(self) -> Place:
        """Returns when Pods may be created in it."""
        self.plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})
        path = f"/api/v1/namespaces/{self.name}/serviceaccounts/default"
        eventually(lambda: self.plane.answers(path) == 200, WITHIN)
        return self

    def remove(self) -> None:
        self.plane.request("DELETE", self.path("ray.io/v1/rayclusters"))  # first, or an operator would still fill it
        self.plane.request("DELETE", f"/api/v1/namespaces/{self.name}")

    def path(self, resource: str, name: str = "") -> str:
        """`pods`, or `group/version/plural`."""
        group, _, plural = resource.rpartition("/")
        root = f"/apis/{group}" if group else "/api/v1"
        return f"{root}/namespaces/{self.name}/{plural}" + (f"/{name}" if name else "")

    def create(self, resource: str, body: dict[str, Any]) -> dict[str, Any]:
        code, answer = self.plane.request("POST", self.path(resource), body)
        assert code == 201, answer
        found: dict[str, Any] = answer
        return found

    def list(self, resource: str, labels: str = "") -> list[dict[str, Any]]:
        code, answer = self.plane.request("GET", self.path(resource) + (f"?labelSelector={labels}" if labels else ""))
        assert code == 200, answer
        found: list[dict[str, Any]] = answer["items"]
        return found

    def cluster(self, name: str = "demo") -> dict[str, Any]:
        """{} when it is not there."""
        code, answer = self.plane.request("GET", self.path("ray.io/v1/rayclusters", name))
        return answer if code == 200 else {}

    def pods(self) -> list[dict[str, Any]]:
        """Ray's, without those that are on their way out."""
        found = self.list("pods", "ray.io/node-type")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def condition(self, kind: str, name: str = "demo") -> dict[str, Any]:
        conditions = self.cluster(name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    def make_cluster(self, name: str = "demo", workers: int = 2, **annotations: str) -> dict[str, Any]:
        return self.create("ray.io/v1/rayclusters", cluster(name, workers, annotations))

    def scale(self, workers: int, name: str = "demo") -> None:
        patch = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers}]
        path = self.path("ray.io/v1/rayclusters", name)
        code, answer = self.plane.request("PATCH", path, patch, kind="application/json-patch+json")
        assert code == 200, answer

    def is_ready(self, workers: int = 2, name: str = "demo") -> bool:
        """Provisioned, and just so many workers ready, in the status as among the Pods."""
        provisioned = self.condition("RayClusterProvisioned", name).get("status") == "True"
        status = self.cluster(name).get("status", {})
        return provisioned and status.get("readyWorkerReplicas", 0) == workers and status.get("state") == "ready"

    def await_ready(self, workers: int = 2, name: str = "demo", within: float = WITHIN) -> None:
        eventually(lambda: self.is_ready(workers, name), within, f"{self.name}/{name} ready with {workers} workers")

    def events(self, reason: str) -> list[str]:
        return [event["note"] for event in self.list("events.k8s.io/v1/events") if event["reason"] == reason]


def cluster(name: str, workers: int, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    def template(container: str) -> dict[str, Any]:
        return {
            "metadata": {"annotations": annotations or {}},
            "spec": {"containers": [{"name": container, "image": "rayproject/ray:2.60.0"}]},
        }

    group = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 100, "rayStartParams": {}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
            "workerGroupSpecs": [{**group, "template": template("ray-worker")}],
        },
    }
