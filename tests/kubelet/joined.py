"""A kubelet that has joined a real control plane, whose scheduler places the Pods.

Both live in one network namespace, which is that of the calling thread.
"""

from __future__ import annotations

import json
import signal
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from testbed.control_plane import ControlPlane
from testbed.process import Process
from tests.kubelet.kubectl import Kubectl
from tests.local.waiting import eventually

ROOT = Path(__file__).parents[2]
NODE = "local"


class Joined(Kubectl):
    def __init__(self, directory: Path) -> None:
        self.state = directory / "kubelet"
        self.log = directory / "kubelet.log"
        self.plane = ControlPlane(directory / "plane", scheduler=True).start()
        super().__init__(self.plane.kubeconfig(), self.plane.directory)
        self.kubelet = self.start_kubelet()
        self.kubectl("taint", "node", NODE, "node.kubernetes.io/not-ready-")  # what the node controller does, which does not run here

    def start_kubelet(self) -> Process:
        plane, program = self.plane, [sys.executable, "-m", "rayfleet", "kubelet", "--no-bind"]
        about = {
            "--kubeconfig": plane.kubeconfig("kubelet"),
            "--state": self.state,
            "--api": plane.url.removeprefix("https://"),
            "--client-ca": plane.credentials.ca,
            "--client-name": "kube-apiserver-kubelet-client",
        }
        words = [str(word) for pair in about.items() for word in pair]
        kubelet = Process([*program, *words], self.log, {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
        eventually(lambda: self.healthy() or not kubelet.alive, 30.0, "the node is ready")
        assert kubelet.alive, kubelet.told()
        return kubelet

    def healthy(self) -> bool:
        """Is the node ready, and does its kubelet answer the API server?"""
        return self.plane.answers(f"/api/v1/nodes/{NODE}/proxy/healthz") == 200

    def close(self) -> None:
        """The Pods end with the kubelet's last work for them."""
        self.plane.kubectl("delete", "pods", "--all", "--all-namespaces", "--grace-period=1", "--timeout=300s")
        self.kubelet.signal(signal.SIGTERM)
        self.kubelet.stop()
        self.plane.stop()

    def told(self) -> str:
        return self.kubelet.told()[-2000:]

    def ask_kubelet(self, path: str, certificate: tuple[Path, Path] | None) -> int | None:
        """The HTTP code that the kubelet answers, None when it does not."""
        context = ssl._create_unverified_context()
        if certificate:
            context.load_cert_chain(*certificate)
        try:
            with urllib.request.urlopen(f"https://10.88.0.1:10250{path}", timeout=60, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", text="\n---\n".join(map(json.dumps, objects)))

    def run(self, body: dict[str, Any]) -> str:
        """Makes a Pod and waits until it is ready; gives its name."""
        whole = {"apiVersion": "v1", "kind": "Pod", **body}
        eventually(lambda: self.plane.answers("/api/v1/namespaces/default/serviceaccounts/default") == 200)
        self.apply(whole)
        name = str(body["metadata"]["name"])
        self.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=300s")
        return name
