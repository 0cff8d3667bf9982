"""What the tests say: make a cluster, look at its Pods, run a job on it, lose something."""

from __future__ import annotations

import base64
import os
import shlex
import signal
from pathlib import Path
from typing import Any, Protocol

from rayfleet.cli.ray_job import Outcome, run_job
from tests.local.fleet import environment, is_ready
from tests.local.ray import group, ray_cluster
from tests.local.waiting import eventually

READY = 300.0  # seconds; 15 on an idle machine
GONE = 180.0
WHERE_RARE = ["laptop", "kubernetes"] if os.environ.get("RAYFLEET_GROUNDS") == "all" else ["laptop"]
"""Where tests run that take long for what they may find; RAYFLEET_GROUNDS=all runs them everywhere."""

# Each task holds its Pod's only CPU until all of them run: so every Pod must have one.
WHERE = """
import ray, socket, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    time.sleep({pause}); return socket.gethostname()
print("HOSTS", *sorted(set(ray.get([where.remote() for _ in range({number})]))))
"""


class Ground(Protocol):
    """Where a cluster is made: a `Site`, or a `Laptop`."""

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        """As admin: the HTTP code, 0 when nobody answers, and the answer."""

    def dashboard(self, cluster: dict[str, Any]) -> str:
        """The URL at which this thread reaches the dashboard of a ready RayCluster."""

    def kill_operator(self) -> None:
        """By SIGKILL. Another one starts."""

    def command(self, *words: str) -> list[str]:
        """`rayfleet` with these words, as its user types it."""

    def told(self) -> str: ...


class Cluster:
    """One RayCluster, there or not."""

    def __init__(self, site: Ground, name: str, namespace: str = "default") -> None:
        self.site, self.name, self.namespace = site, name, namespace
        self.path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters"

    def make(self, workers: int, **spec: Any) -> Cluster:
        """Of one group."""
        return self.create(ray_cluster(self.name, group("small", replicas=workers), **spec))

    def create(self, manifest: dict[str, Any]) -> Cluster:
        code, answer = self.site.request("POST", self.path, manifest)
        assert code == 201, answer
        return self

    def found(self) -> dict[str, Any]:
        """{} when it is not there."""
        code, answer = self.site.request("GET", f"{self.path}/{self.name}")
        return answer if code == 200 else {}

    def await_ready(self, workers: int) -> None:
        eventually(lambda: self.is_ready(workers), READY, f"{self.name} ready with {workers} workers\n{self.site.told()}")

    def is_ready(self, workers: int) -> bool:
        """Just so many workers and one head, in the status as among the Pods."""
        status = self.found().get("status", {})
        conditions = {one["type"]: one["status"] for one in status.get("conditions", ())}
        pods = self.pods()
        told = conditions.get("HeadPodReady") == "True" and status.get("readyWorkerReplicas", 0) == workers
        return told and conditions.get("RayClusterProvisioned") == "True" and len(pods) == workers + 1 and all(map(is_ready, pods))

    def scale(self, workers: int) -> None:
        self.patch({"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers})

    def patch(self, *operations: dict[str, Any]) -> None:
        """https://www.rfc-editor.org/rfc/rfc6902"""
        code, answer = self.site.request("PATCH", f"{self.path}/{self.name}", list(operations), kind="application/json-patch+json")
        assert code == 200, answer

    def delete(self) -> None:
        code, answer = self.site.request("DELETE", f"{self.path}/{self.name}")
        assert code == 200, answer

    def children(self, plural: str) -> list[dict[str, Any]]:
        """Those on their way out too."""
        path = f"/api/v1/namespaces/{self.namespace}/{plural}?labelSelector=ray.io/cluster={self.name}"
        code, answer = self.site.request("GET", path)
        assert code == 200, answer
        return list(answer["items"])

    def pods(self) -> list[dict[str, Any]]:
        return [pod for pod in self.children("pods") if "deletionTimestamp" not in pod["metadata"]]

    def uids(self) -> dict[str, str]:
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods()}

    def names(self) -> set[str]:
        return set(self.uids())

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Its Pods of one kind, head or worker, by name."""
        return [pod for pod in self.pods() if pod["metadata"]["labels"]["ray.io/node-type"] == kind]

    def head(self) -> str:
        (head,) = self.of("head")
        return str(head["metadata"]["name"])

    def workers(self) -> set[str]:
        return {worker["metadata"]["name"] for worker in self.of("worker")}

    def address(self) -> str:
        """The head's."""
        (head,) = self.of("head")
        return str(head["status"]["podIP"])

    def job(self, code: str, token: str = "", within: float = READY) -> Outcome:
        """By the dashboard. `within`: seconds until it has ended, or counts as it is then."""
        return run_job(self.site.dashboard(self.found()), shlex.join(["python", "-c", code]), within, token)

    def log(self, pod: str) -> str:
        code, answer = self.site.request("GET", f"/api/v1/namespaces/{self.namespace}/pods/{pod}/log?container=ray")
        assert code == 200, answer
        return str(answer)

    def notes(self) -> list[str]:
        """What its events say."""
        code, answer = self.site.request("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        assert code == 200, answer
        return [event["note"] for event in answer["items"] if event["regarding"]["name"] == self.name]

    def await_nothing(self) -> None:
        """Until no child is left of it."""
        eventually(lambda: not self.children("pods") and not self.children("services"), GONE, f"no child of {self.name} is left")

    def secret(self, name: str) -> dict[str, bytes]:
        """What is in a Secret."""
        code, answer = self.site.request("GET", f"/api/v1/namespaces/{self.namespace}/secrets/{name}")
        assert code == 200, answer
        return {key: base64.b64decode(value) for key, value in answer["data"].items()}

    def hosts(self, number: int, pause: float = 2.0, token: str = "") -> set[str]:
        """Where so many tasks ran that were there at the same time. An empty set when the job failed."""
        try:
            outcome = self.job(WHERE.format(number=number, pause=pause), token)
        except (OSError, ValueError, LookupError):
            return set()
        lines = [line for line in outcome.log.splitlines() if line.startswith("HOSTS")]
        return set(lines[0].split()[1:]) if outcome.status == "SUCCEEDED" and lines else set()

    def await_work_on_all(self, token: str = "") -> None:
        """A job runs on each of its Pods, and nowhere else."""
        eventually(lambda: self.hosts(len(self.names()), token=token) == self.names(), READY, f"a job on all Pods of {self.name}")

    def lose(self, name: str, *others: str) -> None:
        """Every process of a Pod dies, and those of whose environment `others` are lines."""
        marks = {each.encode() for each in (f"RAY_CLOUD_INSTANCE_ID={name}", *others)}
        numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        found = [pid for pid in numbers if marks & set(environment(pid).split(b"\0"))]
        assert found
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
