"""What an operator is measured on: an API server with an audit log, and a hollow kubelet."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path

from bench.process import Process

OPERATOR = "rayfleet-operator"


class Ground:
    """The embedded API in a directory of its own. `stop` ends all that was started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.processes: list[Process] = []
        self.server = self.start("server", [sys.executable, "-m", "bench.embedded", str(directory), str(self.port)])
        self._wait_for(directory / "ready")

    def kubeconfig(self, user: str) -> Path:
        return self.directory / f"{user}.kubeconfig"

    def start(self, name: str, command: list[str], user: str = "") -> Process:
        environ = {**os.environ, **({"KUBECONFIG": str(self.kubeconfig(user))} if user else {})}
        process = Process(name, command, self.directory / f"{name}.log", environ)
        self.processes.append(process)
        return process

    def start_kubelet(self, delay: float = 0.1) -> Process:
        command = [sys.executable, "-m", "rayfleet", "hollow-kubelet", "--kubeconfig", str(self.kubeconfig("kubelet"))]
        return self.start("kubelet", [*command, "--delay", str(delay)])

    def requests(self) -> list[dict[str, str]]:
        """The operator's own requests so far."""
        os.kill(self.server.popen.pid, signal.SIGUSR1)
        time.sleep(0.3)
        lines = (self.directory / "audit.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["user"] == OPERATOR]

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()

    def _wait_for(self, path: Path, seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not path.exists():
            if not self.server.alive or time.monotonic() > deadline:
                raise RuntimeError(f"the API server did not start:\n{self.server.log.read_text()[-2000:]}")
            time.sleep(0.02)


def counted(requests: list[dict[str, str]]) -> Counter[str]:
    """How many requests of each kind: `create pods`, `patch rayclusters/status` ..."""
    return Counter(f"{line['verb']} {line['resource']}{'/' + line['subresource'] if line['subresource'] else ''}" for line in requests)


def real(requests: list[dict[str, str]]) -> list[dict[str, str]]:
    """Without what runs at rest by design: watches and the lease."""
    return [line for line in requests if line["verb"] != "watch" and line["resource"] != "leases"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
