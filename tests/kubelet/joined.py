"""A kubelet that has joined a real control plane, whose scheduler places the Pods.

Both live in one network namespace, which is that of the calling thread.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import ssl
import struct
import subprocess
import sys
import termios
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.build import binary
from testbed.control_plane import ControlPlane
from testbed.process import Process
from tests.local.waiting import eventually

ROOT = Path(__file__).parents[2]
NODE = "local"


class Screen:
    """The other side of a terminal at which a program sits."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.master, self.process = master, process
        self.said = b""
        os.set_blocking(master, False)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def shown(self) -> str:
        """All that was ever shown."""
        try:
            while piece := os.read(self.master, 65536):
                self.said += piece
        except OSError:
            pass
        return self.said.decode(errors="replace")

    def end(self) -> int:
        return eventually(lambda: self.shown() and self.process.poll(), 20.0, "it has ended")


class Joined:
    def __init__(self, directory: Path) -> None:
        self.state = directory / "kubelet"
        self.log = directory / "kubelet.log"
        self.plane = ControlPlane(directory / "plane", scheduler=True).start()
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
        self.plane.kubectl("delete", "pods", "--all", "--all-namespaces", "--grace-period=1", "--timeout=60s")
        self.kubelet.signal(signal.SIGTERM)
        self.kubelet.stop()
        self.plane.stop()

    def kubectl(self, *words: str, text: str = "", code: int | None = 0) -> str:
        """Standard output; with another code than 0 what it complains of. None: any code."""
        done = self.plane.try_kubectl(*words, text=text)
        assert code is None or done.returncode == code, (
            f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.kubelet.told()[-2000:]}"
        )
        return done.stderr if code else done.stdout

    def popen(self, *words: str) -> subprocess.Popen[str]:
        """A kubectl that goes on."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self.argv(*words), env=self.environ(), text=True, stdin=pipe, stdout=pipe, stderr=pipe)

    def argv(self, *words: str) -> list[str]:
        return [str(binary()), "kubectl", *words]

    def environ(self) -> dict[str, str]:
        kubeconfig = str(self.plane.kubeconfig())
        return {"KUBECONFIG": kubeconfig, "HOME": str(self.plane.directory), "PATH": "/usr/bin:/bin", "TERM": "xterm"}

    @contextmanager
    def forwarding(self, what: str, port: int) -> Iterator[int]:
        """The local port from which a kubectl forwards to that port of a Pod."""
        with self.popen("port-forward", what, f":{port}") as forwarding:
            assert forwarding.stdout is not None
            try:
                yield int(forwarding.stdout.readline().split(" -> ")[0].rpartition(":")[2])
            finally:
                forwarding.kill()

    @contextmanager
    def terminal(self, *words: str) -> Iterator[Screen]:
        """A kubectl at a terminal of its own."""
        master, slave = os.openpty()
        process = subprocess.Popen(self.argv(*words), env=self.environ(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        screen = Screen(master, process)
        try:
            yield screen
        finally:
            process.kill()
            process.wait()
            os.close(master)

    def ask_kubelet(self, path: str, certificate: tuple[Path, Path] | None) -> int | None:
        """The HTTP code that the kubelet answers, None when it does not."""
        context = ssl._create_unverified_context()
        if certificate:
            context.load_cert_chain(*certificate)
        try:
            with urllib.request.urlopen(f"https://10.88.0.1:10250{path}", timeout=10, context=context) as answer:
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
        self.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=30s")
        return name
