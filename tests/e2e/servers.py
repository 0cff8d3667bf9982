"""A control plane, the operator and the kubelet that runs Pods as processes; all in the network namespace of the calling thread."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from deploy.objects import NAME, SYSTEM_NAMESPACE, cluster_wide, gates
from rayfleet.api.crds import crds
from rayfleet.local.credentials import INNER_SERVER, issue, kubeconfig
from rayfleet.local.start import OPERATOR
from rayfleet.local.state import State
from testbed.control_plane import ControlPlane
from testbed.process import Process
from tests.issuer.definitions import DEFINITIONS
from tests.local.asking import ask
from tests.local.fleet import is_ready
from tests.local.waiting import eventually

ROOT = Path(__file__).parents[2]
CUSTOM = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
START = 60.0


class Server(Protocol):
    """What differs between the two."""

    directory: Path
    pods: Path  # the kubelet's directory

    def start(self) -> None:
        """Returns when the API is ready and knows Ray's kinds."""

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        """As admin: the HTTP code, 0 when nobody answers, and the answer."""

    def admin_kubeconfig(self) -> Path: ...

    def operator_kubeconfig(self) -> Path: ...

    def kubelet_command(self) -> list[str]: ...

    def stop(self) -> None: ...


class Kubernetes:
    """The operator is its own ServiceAccount, with the rights that we ship."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.pods = directory, directory / "kubelet"
        self.plane = ControlPlane(directory / "plane", claims=True)
        self.request, self.stop = self.plane.request, self.plane.stop

    def start(self) -> None:
        self.plane.start()
        whole = (*cluster_wide(), *gates(), *DEFINITIONS)
        shipped = [each for each in whole if each["kind"] != "Deployment"]  # its Pod would want an image
        self.plane.kubectl("apply", "--filename", "-", text="\n---\n".join(map(json.dumps, shipped)))
        self.plane.kubectl("wait", "--for=condition=Established", "--all", "customresourcedefinitions")

    def admin_kubeconfig(self) -> Path:
        return self.plane.kubeconfig()

    def operator_kubeconfig(self) -> Path:
        return self.plane.service_account(SYSTEM_NAMESPACE, NAME)

    def kubelet_command(self) -> list[str]:
        plane = self.plane
        about = {
            "--kubeconfig": plane.kubeconfig("kubelet"),
            "--state": self.pods,
            "--api": plane.url.removeprefix("https://"),
            "--client-ca": plane.credentials.ca,
            "--client-name": "kube-apiserver-kubelet-client",
            "--overcommit": "cpu=10",  # as a local fleet has it
        }
        return ["kubelet", *(str(word) for pair in about.items() for word in pair)]


class Embedded:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = State(directory / "fleet")
        self.pods = self.state.pods
        self.state.make()
        self.state.write(self.state.host_paths, '["/"]')
        issue(self.state)

    def start(self) -> None:
        self.process = rayfleet(["internal", "apiserver", "--state", str(self.state.path)], self.directory / "apiserver.log")
        eventually(lambda: self.request("GET", "/readyz")[0] == 200, START, "the embedded API is ready")
        for crd in (*crds(), *DEFINITIONS):
            assert self.request("POST", CUSTOM, crd)[0] == 201

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        return ask(self.state, "https://127.0.0.1:6443", method, path, body, kind=kind)

    def admin_kubeconfig(self) -> Path:
        path = self.directory / "admin.kubeconfig"
        path.write_text(kubeconfig(self.state, "admin", INNER_SERVER))
        return path

    def operator_kubeconfig(self) -> Path:
        return self.state.inner_kubeconfig("operator")

    def kubelet_command(self) -> list[str]:
        return ["internal", "kubelet", "--state", str(self.state.path)]

    def stop(self) -> None:
        self.process.stop()


GATES = ("RayClusterMTLS", "RayClusterNetworkPolicy", "GCSFaultToleranceEmbeddedStorage")


class Site:
    """A server with its operator and its kubelet, and an issuer in cert-manager's place."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.start()
        self.config = server.directory / "operator.json"
        self.config.write_text(json.dumps({**OPERATOR, "featureGates": dict.fromkeys(GATES, True)}))
        self.kubelet = rayfleet(server.kubelet_command(), server.directory / "kubelet.log")
        self.issuer = python(["-m", "tests.issuer", "--kubeconfig", str(server.admin_kubeconfig())], server.directory / "issuer.log")
        self.operator = self.start_operator()
        eventually(self.node_is_ready, START, "the node is ready")

    def start_operator(self) -> Process:
        words = ["run", "--no-leader-election", "--config", str(self.config), "--kubeconfig", str(self.server.operator_kubeconfig())]
        self.operator = rayfleet(words, self.server.directory / "operator.log")
        return self.operator

    def kill_operator(self) -> None:
        self.operator.kill()
        self.start_operator()

    def node_is_ready(self) -> bool:
        code, node = self.server.request("GET", "/api/v1/nodes/local")
        return code == 200 and is_ready(node)

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        return self.server.request(method, path, body, kind=kind)

    def dashboard(self, cluster: dict[str, Any]) -> str:
        """As the head's Pod serves it."""
        status = cluster["status"]
        return f"http://{status['head']['podIP']}:{status['endpoints']['dashboard']}"

    def command(self, *words: str) -> list[str]:
        """`rayfleet` with these words, as admin."""
        return [sys.executable, "-m", "rayfleet", *words, "--kubeconfig", str(self.server.admin_kubeconfig())]

    def told(self) -> str:
        """The end of each log, for who looks into a failure."""
        logs = sorted(self.server.directory.glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-3000:]}" for log in logs)

    def close(self) -> None:
        """In the order in which nothing is started again."""
        self.operator.stop()
        self.issuer.kill()
        self.kubelet.stop()
        self.server.stop()


def rayfleet(words: list[str], log: Path) -> Process:
    return python(["-m", "rayfleet", *words], log)


def python(words: list[str], log: Path) -> Process:
    environ = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}
    return Process([sys.executable, *words], log, environ)


SERVERS: dict[str, Callable[[Path], Server]] = {"kubernetes": Kubernetes, "embedded": Embedded}
