"""The operator as users run it: the real command line, as its own ServiceAccount, with the rights that we ship."""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.objects import NAME, SYSTEM_NAMESPACE
from rayfleet.cli.rights import LEASE as LEASE_NAME
from testbed.audit import Asked
from testbed.control_plane import ControlPlane, free_port
from testbed.process import Process
from tests.local.waiting import eventually

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{LEASE_NAME}"
START = 30.0
QUIET = 2.0  # seconds; counters are held back for one
SKEWED = """
import sys, time
skew, right = float(sys.argv.pop(1)), time.time
time.time = lambda: right() + skew
from rayfleet.cli.main import main
main()
"""


class Operator:
    """One process of `rayfleet run`. `kubeconfig` says where the API is and who speaks; its wall clock goes wrong by `skew` seconds."""

    def __init__(self, kubeconfig: Path, log: Path, *words: str, skew: float = 0.0) -> None:
        self.port = free_port()
        program = ["-c", SKEWED, str(skew)] if skew else ["-m", "rayfleet"]
        command = [sys.executable, *program, "run", "--kubeconfig", str(kubeconfig)]
        self.process = Process([*command, "--listen", f"127.0.0.1:{self.port}", "--log-format", "json", *words], log)

    @property
    def is_ready(self) -> bool:
        return self.answer("/readyz") == "ok\n"

    @property
    def leads(self) -> bool:
        return "rayfleet_leading 1.0" in self.answer("/metrics")

    def answer(self, path: str) -> str:
        """ "" when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""

    def said(self, level: str = "") -> list[str]:
        """What it logged, of one level or all."""
        lines = [parsed(line) for line in self.process.told().splitlines()]
        return [line["message"] for line in lines if level in ("", line["level"].lower())]


def parsed(line: str) -> dict[str, Any]:
    """A line that is no JSON is something that no log should hold, such as a traceback of the interpreter's."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return {"level": "broken", "message": line}
    return found


class Operators:
    """Those that one test starts."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane = plane
        self.directory = directory
        self.kubeconfig = plane.service_account(SYSTEM_NAMESPACE, NAME)
        self.begun: list[Operator] = []
        self._mark = len(plane.asked())

    def start(self, *words: str, kubeconfig: Path | None = None, wait: bool = True, skew: float = 0.0) -> Operator:
        """With `wait`, returns when it has seen its world."""
        log = self.directory / f"operator-{len(self.begun)}.log"
        election = () if "--no-leader-election" in words else ("--leader-election-namespace", SYSTEM_NAMESPACE)
        one = Operator(kubeconfig or self.kubeconfig, log, *election, *words, skew=skew)
        self.begun.append(one)
        if wait:
            eventually(lambda: one.is_ready, START, f"ready: {log}")
        return one

    def asked(self) -> list[Asked]:
        """What they asked of the API in this test."""
        return self.plane.asked()[self._mark :]

    def real(self, place: str) -> list[Asked]:
        """In one namespace (those of other tests may still be going away), without what runs at rest by design: watches and the lease."""
        return [request for request in self.asked() if request.namespace == place and not request.is_standing]

    def writes(self, place: str) -> list[Asked]:
        return [request for request in self.real(place) if request.verb not in ("get", "list")]

    def settle(self, place: str) -> int:
        """Wait until none of them has written there for a while; gives the number of writes until then."""
        seen, since = -1, time.monotonic()
        while time.monotonic() - since < QUIET:
            if (now := len(self.writes(place))) != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.05)
        return seen

    def stop(self) -> None:
        for one in self.begun:
            one.process.kill()
        self.plane.request("DELETE", LEASE)  # or the next test's would wait until it runs out


@contextmanager
def hollow_kubelet(plane: ControlPlane, directory: Path) -> Iterator[Process]:
    """Plays the kubelet: Pods become ready at once."""
    command = [sys.executable, "-m", "rayfleet", "hollow-kubelet", "--kubeconfig", str(plane.kubeconfig("kubelet")), "--delay", "0.02"]
    process = Process(command, directory / "kubelet.log")
    try:
        eventually(lambda: plane.answers("/api/v1/nodes/hollow") == 200, START)
        yield process
    finally:
        process.kill()
