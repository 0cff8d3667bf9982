"""A fleet as its user sees it: commands, and what they print."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rayfleet.cli.standing import Standing, standing
from rayfleet.cli.status import peers
from rayfleet.local import leftovers
from rayfleet.local.find import find_holder
from rayfleet.local.identity import Identity
from rayfleet.local.start import OPERATOR
from rayfleet.local.state import State
from tests.local.asking import ask
from tests.local.ordinary import User
from tests.local.waiting import eventually

CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"


class Fleet:
    """The commands of one state directory, by this test's user or another. `auth` is the mode of clusters that say nothing of it."""

    def __init__(self, state: State, auth: str = "disabled", user: User | None = None) -> None:
        self.state, self.auth, self.user = state, auth, user

    def run(self, *words: str, text: str = "", code: int = 0, within: float = 600.0) -> str:
        """What a command prints; an AssertionError when it ends with another code."""
        done = subprocess.run(self.command(*words), input=text, capture_output=True, text=True, timeout=within)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + (done.stderr if code else "")

    def command(self, *words: str) -> list[str]:
        options = words.index("--") if "--" in words else len(words)  # what follows is another program's
        command = [sys.executable, "-m", "rayfleet", *words[:options], "--state", str(self.state.path), *words[options:]]
        return self.user.command(*command) if self.user else command

    def up(self, *words: str) -> str:
        return self.run("up", "--auth", self.auth, *words)

    def up_without_ray(self, *words: str) -> None:
        """For clusters that only sleep: the operator adds no init container, as there is no Ray to wait for."""
        self.up(*words)
        self.state.write(self.state.operator_config, json.dumps(OPERATOR | {"enableInitContainerInjection": False}))
        operator = self.processes()["operator"]
        kill(operator, signal.SIGTERM)
        eventually(lambda: self.processes()["operator"]["starts"] > operator["starts"])

    def apply(self, *objects: dict[str, Any]) -> str:
        return self.run("apply", "-f", "-", text="\n---\n".join(map(json.dumps, objects)))

    def read(self, path: str, **query: str) -> Any:
        """A GET of the API through the door; None when there is no answer (yet), or no such object."""
        return self.send("GET", f"{path}?{urlencode(query)}")

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Any request through the door; None when there is no answer (yet), or a refusal."""
        code, answer = self.request(method, path, body)
        return answer if 200 <= code < 300 else None

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        """Through the door as well: the HTTP code, 0 when nobody answers, and the answer."""
        server = json.loads(self.state.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        return ask(self.state, server, method, path, body, kind=kind)

    def dashboard(self, service: str, namespace: str = "default") -> str:
        """Where the door has it on this machine, by the head's Service."""
        return f"http://127.0.0.1:{json.loads(self.state.ports.read_text())[f'dashboard/{namespace}/{service}']}"

    def children(self, cluster: str, plural: str = "pods") -> list[dict[str, Any]]:
        """Pods or Services of a cluster, those on their way out too."""
        query = {"labelSelector": f"ray.io/cluster={cluster}"}
        return list(eventually(lambda: self.read(f"/api/v1/namespaces/default/{plural}", **query), 30.0, "the API answers")["items"])

    def pods(self, cluster: str) -> dict[str, dict[str, Any]]:
        """Every Pod of a cluster that is not on its way out, by its name."""
        return {pod["metadata"]["name"]: pod for pod in self.children(cluster) if "deletionTimestamp" not in pod["metadata"]}

    def uids(self, cluster: str) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in self.pods(cluster).items()}

    def standing(self, name: str) -> Standing | None:
        cluster = self.read(f"{CLUSTERS}/{name}")
        return standing(cluster, []) if cluster else None

    def ready(self, name: str, workers: int, within: float = 120.0) -> None:
        """Wait until the status says so and the Pods say so too: right after a death the status is still that of before."""
        eventually(lambda: self.is_ready(name, workers), within, f"{name} is ready with {workers} workers")

    def is_ready(self, name: str, workers: int) -> bool:
        how, pods = self.standing(name), self.pods(name).values()
        told = bool(how and how.ready and how.workers == f"{workers}/{workers}")
        return told and len(pods) == workers + 1 and all(map(is_ready, pods))

    def processes(self) -> dict[str, dict[str, Any]]:
        """The fleet's own processes as `status` shows them."""
        return {row["process"]: row for row in peers(self.state)}

    def inside(self) -> list[Identity]:
        holder = find_holder(self.state)
        return leftovers.members(holder) if holder else []

    def of_pod(self, name: str) -> list[Identity]:
        """The processes of a Pod's containers, by what only their environment says."""
        mark = f"RAY_CLOUD_INSTANCE_ID={name}".encode()
        return [process for process in self.inside() if mark in environment(process.pid).split(b"\0")]


def is_ready(pod: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions") or ())


def environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def kill(process: dict[str, Any], number: int) -> None:
    os.kill(process["pid"], number)


def container(command: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """Of an idle process that takes no time to start and is ready at once."""
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    idle = {"image": "any", "command": command or ["sleep", "100000"], "readinessProbe": probe, "livenessProbe": probe}
    return {"name": "ray", "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}}, **idle, **more}


def template(**more: Any) -> dict[str, Any]:
    return {"spec": {"terminationGracePeriodSeconds": 2, "containers": [container(**more)]}}


def idle_cluster(name: str, workers: int = 1, head: dict[str, Any] | None = None) -> dict[str, Any]:
    """A RayCluster without Ray: its Pods only sleep. For what is to be seen of the fleet itself."""
    group = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 20, "rayStartParams": {}, "template": template()}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "annotations": {"ray.io/overwrite-container-cmd": "true"}},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": head or template()},
            "workerGroupSpecs": [group] if workers else [],
        },
    }
