"""What is around a RayJob in `job_life`: clusters that become ready, and those who submit from a Pod."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, Resource
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.ray_jobs import FakeRay

NAMESPACE = "demo"


class Surroundings:
    """`objects` by resource and name, `rays` by cluster. A cluster is ready `ready_in` seconds after it was made (None: never)."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.objects: dict[tuple[Resource, str], dict[str, Any]] = {}
        self.rays: dict[str, FakeRay] = {}
        self.version = 0
        self.ready_in: float | None = 1.0

    def put(self, resource: Resource, obj: dict[str, Any]) -> None:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.objects[resource, obj["metadata"]["name"]] = obj

    def clusters(self) -> list[str]:
        return [name for kind, name in self.objects if kind == RAYCLUSTERS]

    def grow(self) -> None:
        """Clusters become ready, submitters do their work."""
        for name in self.clusters():
            obj = self.objects[RAYCLUSTERS, name]
            if not obj["status"] and self.ready_in is not None and self.now >= obj["made"] + self.ready_in:
                provisioned = {"type": "RayClusterProvisioned", "status": "True", "lastTransitionTime": rfc3339(self.now)}
                obj["status"] = {
                    "state": "ready",
                    "head": {"podIP": "10.0.0.1", "podName": f"{name}-head", "serviceName": f"{name}-head-svc"},
                    "conditions": [provisioned],
                }
                self.put(RAYCLUSTERS, obj)
                self.put(PODS, head_pod(obj))
        for name in self.clusters():
            self.beside_the_head(name)
        for (kind, name), obj in list(self.objects.items()):
            if kind == JOBS:
                self.submit(obj, obj["spec"]["template"]["spec"]["containers"][0])
                self.put(JOBS, self.objects[kind, name])

    def beside_the_head(self, name: str) -> None:
        """The submitter of SidecarMode: it submits once, and ends with the job."""
        head, ray = self.objects.get((PODS, f"{name}-head")), self.rays[name]
        containers = self.objects[RAYCLUSTERS, name]["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
        if head is None or len(containers) < 2 or not ray.alive:
            return
        env = {variable["name"]: variable.get("value") for variable in containers[1]["env"]}
        job = ray.jobs.get(env["RAY_JOB_SUBMISSION_ID"])
        if job is None and not ray.runs:
            ray.submit(msgspec.json.decode(env["RAYFLEET_SUBMISSION"]))
        elif job is None or job["status"] not in ("PENDING", "RUNNING"):
            head["status"]["containerStatuses"][1]["state"] = {"terminated": {"exitCode": int(job is None)}}
            self.put(PODS, head)

    def submit(self, obj: dict[str, Any], container: dict[str, Any]) -> None:
        """As the submitter's program does."""
        env = {variable["name"]: variable.get("value") for variable in container["env"]}
        ray = self.rays.get(env["RAY_DASHBOARD_ADDRESS"].partition("-head-svc")[0])
        if ray is None or not ray.alive or ray.lie is not None or obj["status"].get("conditions"):
            return
        job = ray.jobs.get(env["RAY_JOB_SUBMISSION_ID"])
        if job is None and env.get("RAYFLEET_RAY_SESSION", ray.session) == ray.session:
            ray.submit(msgspec.json.decode(env["RAYFLEET_SUBMISSION"]))
        elif job is None:
            obj["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}
        elif job["status"] not in ("PENDING", "RUNNING"):
            obj["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}


def head_pod(cluster: dict[str, Any]) -> dict[str, Any]:
    name = cluster["metadata"]["name"]
    owner = {"kind": "RayCluster", "name": name, "uid": cluster["metadata"]["uid"], "controller": True}
    names = [container["name"] for container in cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"]]
    return {
        "metadata": {
            "name": f"{name}-head",
            "namespace": NAMESPACE,
            "labels": {"ray.io/node-type": "head"},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [{"name": name} for name in names]},
        "status": {"phase": "Running", "containerStatuses": [{"name": name, "state": {}} for name in names]},
    }
