"""logs, exec, attach and port-forward by the real kubectl, through either server to the kubelet."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest

from testbed.build import binary
from tests.e2e.servers import Site
from tests.kubelet.kubectl import Kubectl
from tests.kubelet.world import FOR_EVER, pod
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.namespaces, pytest.mark.testbed]

SERVE = "import http.server as h; h.HTTPServer(('127.0.0.1', 8123), h.SimpleHTTPRequestHandler).serve_forever()"
CONNECT = "import socket; socket.create_connection(('127.0.0.1', 8123))"


@pytest.fixture(scope="module")
def shell(site: Site) -> Kubectl:
    if not binary().exists():
        pytest.skip("kubectl is not built; build it with: make testbed")
    return Kubectl(site.server.admin_kubeconfig(), site.server.directory)


@pytest.fixture(scope="module")
def idle(shell: Kubectl) -> Iterator[str]:
    """A Pod that only waits."""
    spec = pod(f"echo hello; {FOR_EVER}", "idle", env=[{"name": "WHO", "value": "me"}])
    spec["spec"]["containers"].append({"name": "serves", "image": "example.com/any:1", "command": ["python3", "-c", SERVE]})
    spec["spec"]["containers"][1]["readinessProbe"] = {"exec": {"command": ["python3", "-c", CONNECT]}, "periodSeconds": 1}
    yield from running(shell, "idle", spec)


def running(shell: Kubectl, name: str, spec: dict[str, object]) -> Iterator[str]:
    shell.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "Pod", **spec}))
    shell.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=300s")
    yield name
    shell.kubectl("delete", "pod", name, "--grace-period=1", "--timeout=300s")


def test_logs(shell: Kubectl, idle: str) -> None:
    assert shell.kubectl("logs", idle, "-c", "main") == "hello\n"
    assert "choose one of: [main serves]" in shell.kubectl("get", "--raw", f"/api/v1/namespaces/default/pods/{idle}/log", code=1)


def test_a_command_has_its_streams_and_its_exit_code(shell: Kubectl, idle: str) -> None:
    run = ("exec", idle, "-c", "main")
    assert shell.kubectl(*run, "--", "sh", "-c", "echo $WHO; hostname") == "me\nidle\n"
    assert shell.kubectl(*run, "--", "sh", "-c", "echo out; echo err >&2; exit 3", code=3).startswith("err\n")
    megabytes = "0123456789abcdef\n" * 200_000
    assert shell.kubectl(*run, "-i", "--", "cat", text=megabytes) == megabytes
    assert "executable file not found" in shell.kubectl(*run, "--", "no-such-program", code=1)
    assert "container other is not valid" in shell.kubectl("exec", idle, "-c", "other", "--", "true", code=1)


def test_a_terminal_has_its_size_and_ends_with_its_program(shell: Kubectl, idle: str) -> None:
    with shell.terminal("exec", "-it", idle, "-c", "main", "--", "sh") as screen:
        screen.resize(41, 123)
        eventually(lambda: screen.type("stty size; tty\n") or re.search(r"41 123\s+/dev/pts/\d", screen.shown()), 20.0)
        screen.type("exit 7\n")
        assert screen.end() == 7


def test_a_container_is_attached_to(shell: Kubectl) -> None:
    spec = pod("while read line; do echo got $line; done; exit 4", "reads", restartPolicy="Never")
    spec["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": True}
    for name in running(shell, "reads", spec):
        assert "got one\ngot two\n" in shell.kubectl("attach", "-i", name, text="one\ntwo\n", code=None)


def test_ports_are_forwarded(shell: Kubectl, idle: str) -> None:
    with shell.forwarding(f"pod/{idle}", 8123) as port:
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                assert answer.status == 200
