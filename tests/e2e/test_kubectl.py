"""A Ray job on a real control plane, by kubectl alone; what is typed and what is answered stands in kubectl.golden."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed.build import binary
from tests.e2e.servers import Kubernetes, Site
from tests.golden import recorded
from tests.local.ray import group, ray_cluster

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces, pytest.mark.testbed]

GOLDEN = Path(__file__).with_name("kubectl.golden")
SUM = "import ray; square = ray.remote(lambda n: n * n); print('sum', sum(ray.get([square.remote(n) for n in range(10)])))"
EVENTS = "custom-columns=REASON:.reason,MESSAGE:.message"
CHANGING = {
    r"\x1b\[\d+m": "",
    r"^\S+ \S+\tINFO (worker|sdk|packaging|job_manager)\.py.*\n": "",  # what Ray logs beside the job's own words
    r"^\S+ \S+\t(INFO|SUCC) cli\.py:\d+ -- ": "",
    r"demo-(head|small-worker)-\w{5}": r"demo-\1-xxxxx",
    r"raysubmit_\w{16}": "raysubmit_x",
    r"node_[0-9a-f]{20,}": "node_x",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d([,.]\d+Z?)?": "TIME",
    r"10\.88\.\d+\.\d+": "10.88.x.x",
    r"(?<=  )(\d+m)?\d+s$": "AGE",
    r"127\.0\.0\.1:\d+ ->": "127.0.0.1:PORT ->",
}


class Session:
    """One person at a shell. `transcript` holds what never changes of it."""

    def __init__(self, site: Kubernetes) -> None:
        self.environ = {"KUBECONFIG": str(site.plane.kubeconfig()), "HOME": str(site.directory), "PATH": "/usr/bin:/bin"}
        self.transcript = ""

    def type(self, *words: str, file: str = "", shown: bool = True) -> str:
        """A kubectl's standard output. Raises AssertionError when it fails."""
        done = subprocess.run(self.argv(words), input=file, capture_output=True, text=True, env=self.environ, timeout=180, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        if shown:
            self.note(words, done.stdout)
        return done.stdout

    def argv(self, words: Sequence[str]) -> list[str]:
        return [str(binary()), "kubectl", *words]

    def note(self, words: Sequence[str], answer: str) -> None:
        typed = " ".join(word if re.fullmatch(r"[\w./:=,@{}-]+", word) else f'"{word}"' for word in words)
        told = f"$ kubectl {typed}\n{answer.rstrip()}\n\n"
        for pattern, words_instead in CHANGING.items():
            told = re.sub(pattern, words_instead, told, flags=re.MULTILINE)
        self.transcript += re.sub(r" +$", "", told, flags=re.MULTILINE)


@pytest.mark.parametrize("site", ["kubernetes"], indirect=True)
def test_a_job_by_kubectl_alone(site: Site) -> None:
    assert isinstance(site.server, Kubernetes)
    shell = Session(site.server)
    mine = ("-l", "ray.io/cluster=demo")
    shell.type("apply", "-f", "-", file=json.dumps(ray_cluster("demo", group("small"))))
    shell.type("wait", "--for=condition=RayClusterProvisioned", "raycluster/demo", "--timeout=120s")
    shell.type("get", "raycluster", "demo")
    shell.type("wait", "--for=condition=Ready", "pod", *mine, "--timeout=60s", shown=False)
    shell.type("get", "pods,services", *mine)
    head = shell.type("get", "pods", *mine, "-l", "ray.io/node-type=head", "-o", "name", shown=False).strip()
    shell.type("exec", head, "--", "ray", "job", "submit", "--address=http://127.0.0.1:8265", "--", "python", "-c", SUM)
    assert "sum 285" in shell.transcript
    shell.type("exec", head, "--", "ray", "list", "nodes", "--format=json", shown=False)
    assert "Ray runtime started." in shell.type("logs", head, shown=False)
    forward(shell)
    told = shell.type(
        "get", "events", "--field-selector=involvedObject.kind=RayCluster,involvedObject.name=demo", "--sort-by=.reason", "-o", EVENTS
    )
    assert "CreatedHeadPod" in told
    shell.type("delete", "raycluster", "demo")
    shell.type("wait", "--for=delete", "pod", *mine, "--timeout=60s", shown=False)
    assert shell.type("get", "pods,services,rayclusters", *mine) == ""
    assert shell.transcript == recorded(GOLDEN, shell.transcript)


def forward(shell: Session) -> None:
    """The dashboard at a port of this machine."""
    words = ("port-forward", "service/demo-head-svc", ":8265")
    with subprocess.Popen(shell.argv(words), env=shell.environ, stdout=subprocess.PIPE, text=True) as forwarding:
        try:
            assert forwarding.stdout is not None
            line = forwarding.stdout.readline()
            shell.note(words, line)
            port = line.split(" -> ")[0].rpartition(":")[2]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/version", timeout=20) as answer:
                assert json.load(answer)["ray_version"] == "2.60.0"
        finally:
            forwarding.kill()
