"""What an operator is measured on: an API server with an audit log, and a hollow kubelet. Two kinds, one interface."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.heads import SPAN
from bench.process import Process, cpu_of
from rayfleet.kubelet.network import tool
from tests.kubelet.namespaces import own_network

USER = "rayfleet-operator"


class Asked(NamedTuple):
    """One request of the operator."""

    verb: str
    resource: str
    name: str
    code: int


class Ground:
    """Base of both: a directory, the processes started in it, and their end."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[Process] = []

    def kubeconfig(self, user: str) -> Path:
        raise NotImplementedError

    def requests(self) -> list[Asked]:
        """What the operator asked so far."""
        raise NotImplementedError

    def server_cpu(self) -> float:
        raise NotImplementedError

    def start(self, name: str, command: list[str], user: str = "", more: Mapping[str, str] | None = None) -> Process:
        environ = {**os.environ, **({"KUBECONFIG": str(self.kubeconfig(user))} if user else {}), **(more or {})}
        process = Process(name, command, self.directory / f"{name}.log", environ)
        self.processes.append(process)
        return process

    def start_kubelet(self, delay: float = 0.1) -> Process:
        command = [sys.executable, "-m", "rayfleet", "hollow-kubelet", "--kubeconfig", str(self.kubeconfig("kubelet"))]
        return self.start("kubelet", [*command, "--delay", str(delay)])

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()


class Embedded(Ground):
    """The embedded API as a process of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.server = self.start("server", [sys.executable, "-m", "bench.embedded", str(directory), str(free_port())])
        deadline = time.monotonic() + 20.0
        while not (directory / "ready").exists():
            if not self.server.alive or time.monotonic() > deadline:
                raise RuntimeError(f"the API server did not start:\n{self.server.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def kubeconfig(self, user: str) -> Path:
        return self.directory / f"{user}.kubeconfig"

    def requests(self) -> list[Asked]:
        os.kill(self.server.popen.pid, signal.SIGUSR1)
        time.sleep(0.3)
        lines = map(json.loads, (self.directory / "audit.jsonl").read_text().splitlines())
        return [
            Asked(line["verb"], full(line["resource"], line["subresource"]), line["name"], line["code"]) for line in lines if ours(line)
        ]

    def server_cpu(self) -> float:
        return self.server.cpu()


class Testbed(Ground):
    """A real control plane (see testbed/)."""

    def __init__(self, directory: Path) -> None:
        from testbed.control_plane import ControlPlane

        super().__init__(directory)
        self.plane = ControlPlane(directory / "plane", users=("operator",)).start()
        self.plane.kubectl("create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin", "--user=operator")

    def kubeconfig(self, user: str) -> Path:
        return self.plane.kubeconfig(user)

    def requests(self) -> list[Asked]:
        found = []
        for line in self.plane.audit_log.read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            target = event.get("objectRef") or {}
            if event["user"]["username"] == "operator" and target.get("resource"):
                where = full(target["resource"], target.get("subresource", ""))
                found.append(Asked(event["verb"], where, target.get("name", ""), (event.get("responseStatus") or {}).get("code", 0)))
        return found

    def server_cpu(self) -> float:
        return cpu_of(self.plane.part("kube-apiserver").pid)

    def stop(self) -> None:
        super().stop()
        self.plane.stop()


GROUNDS = {"embedded": Embedded, "testbed": Testbed}


@contextmanager
def reachable() -> Iterator[None]:
    """In a network of its own, in which every address that a hollow Pod may have leads to this machine."""
    with own_network():
        subprocess.run([tool("ip"), "route", "add", "local", SPAN, "dev", "lo"], check=True)
        yield


def ours(line: Mapping[str, Any]) -> bool:
    return bool(line["user"] == USER)


def full(resource: str, subresource: str) -> str:
    return f"{resource}/{subresource}" if subresource else resource


def counted(requests: list[Asked]) -> Counter[str]:
    """How many requests of each kind: `create pods`, `patch rayclusters/status` ..."""
    return Counter(f"{asked.verb} {asked.resource}" for asked in requests)


def real(requests: list[Asked]) -> list[Asked]:
    """Without what runs at rest by design: watches and the lease."""
    return [asked for asked in requests if asked.verb != "watch" and asked.resource != "leases"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
