"""`run` and `hollow-kubelet` as processes, against the embedded API: the operator's whole main path, without Ray and without namespaces."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rayfleet.api.crds import crds
from rayfleet.cli.output import dump_yaml
from tests.cli.api import api_server
from tests.cli.conftest import Run
from tests.local.waiting import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-clusters.yaml"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with api_server(tmp_path) as path:
        yield str(path)


@pytest.fixture
def start(kubeconfig: str) -> Iterator[Start]:
    """Starts a command that stays; what still runs at the end is killed."""
    begun: list[subprocess.Popen[str]] = []

    def run(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rayfleet", *words, "--kubeconfig", kubeconfig]
        begun.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def workers_of(command: Run, kubeconfig: str) -> dict[str, str]:
    rows = json.loads(command("status", "-o", "json", "--kubeconfig", kubeconfig).stdout)["clusters"]
    return {row["name"]: f"{row['state']} {row['workers']}" for row in rows}


def test_the_operator_makes_clusters_ready_scales_and_removes_them_and_ends_in_good_order(
    command: Run, kubeconfig: str, start: Start
) -> None:
    operator = start("run", "--listen", "127.0.0.1:0", "--log-format", "json")
    start("hollow-kubelet", "--delay", "0.05")
    command("apply", "-f", "-", "--kubeconfig", kubeconfig, text="---\n".join(map(dump_yaml, crds())))
    command("apply", "-f", str(EXAMPLE), "--kubeconfig", kubeconfig)
    eventually(lambda: workers_of(command, kubeconfig) == {"one": "ready 2/2", "two": "ready 1/1"}, 30.0)
    assert command("scale", "raycluster/one", "--replicas", "4", "--kubeconfig", kubeconfig).returncode == 0
    eventually(lambda: workers_of(command, kubeconfig)["one"] == "ready 4/4", 30.0)
    story = command("logs", "raycluster/one", "--kubeconfig", kubeconfig).stdout
    assert "CreatedHeadPod" in story
    assert command("delete", "-f", str(EXAMPLE), "--kubeconfig", kubeconfig).returncode == 0
    eventually(lambda: "No pods" in command("get", "pods", "--kubeconfig", kubeconfig).stderr, 30.0)
    operator.send_signal(signal.SIGTERM)
    assert operator.wait(5) == 0


def test_health_and_metrics_are_served_where_asked(command: Run, kubeconfig: str, start: Start, free_port: int) -> None:
    start("run", "--no-leader-election", "--listen", f"127.0.0.1:{free_port}")
    assert eventually(lambda: answer(free_port, "/healthz"), 20.0) == "ok\n"
    assert "rayfleet" in answer(free_port, "/metrics")


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def answer(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as response:
            return str(response.read().decode())
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--feature-gates", "Nonsense=true"), "there is no feature gate Nonsense; there are: "),
        (("--feature-gates", "RayCronJob"), "no GATE=true"),
        (("--feature-gates", "RayCronJob=maybe"), "neither true nor false"),
        (("--config", "/no/such.yaml"), "/no/such.yaml"),
        (("--listen", "here"), "HOST:PORT"),
        (("--workers", "0"), "--workers"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_wrong_setting_of_the_operator_is_a_usage_error(command: Run, kubeconfig: str, words: tuple[str, ...], told: str) -> None:
    failed = command("run", "--kubeconfig", kubeconfig, *words)
    assert failed.returncode == 2, failed.stderr
    assert told in failed.stderr
