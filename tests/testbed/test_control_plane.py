"""The test bed itself: it starts, says who asked what, can be broken and mended, and outlives nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.build import binary, controller, kubernetes
from testbed.control_plane import ControlPlane
from tests.local.waiting import eventually
from tests.testbed.planes import NewControlPlane

pytestmark = pytest.mark.testbed

STARTS_ONE_AND_WAITS = """
import sys, time
from pathlib import Path
from testbed.control_plane import ControlPlane
plane = ControlPlane(Path(sys.argv[1])).start()
print(*(plane.part(name).pid for name in ("etcd", "kube-apiserver", "kube-controller-manager")), flush=True)
time.sleep(600)
"""


def test_it_is_the_kubernetes_of_the_module_with_roles_and_service_accounts(control_plane: ControlPlane) -> None:
    server = json.loads(control_plane.kubectl("version", "-o", "json"))["serverVersion"]
    assert server["gitVersion"] == kubernetes()
    control_plane.kubectl("create", "namespace", "nobodys")
    eventually(lambda: control_plane.try_kubectl("get", "serviceaccount", "default", "--namespace", "nobodys").returncode == 0)
    nobody = control_plane.service_account("nobodys", "default")
    refused = control_plane.try_kubectl("get", "pods", kubeconfig=nobody)
    assert 'User "system:serviceaccount:nobodys:default" cannot list resource "pods"' in refused.stderr
    asked = [request for request in control_plane.asked() if request.user == "system:serviceaccount:nobodys:default"]
    assert [(request.verb, request.resource, request.namespace, request.code) for request in asked if request.resource == "pods"] == [
        ("list", "pods", "nobodys", 403)
    ]
    assert all(request.user.startswith("system:serviceaccount:") for request in control_plane.asked()), "only whom we audit"


def test_several_at_once_keep_apart_and_a_killed_server_comes_back_with_all_it_had(
    control_plane: ControlPlane, new_control_plane: NewControlPlane
) -> None:
    other = new_control_plane()
    other.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    assert "not found" in control_plane.try_kubectl("get", "configmap", "kept").stderr
    other.kill_apiserver()
    assert other.answers("/readyz") == 0
    other.start_apiserver()
    assert other.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}") == "b"
    before = other.compact()
    assert before > 1
    other.stop()
    assert other.answers("/readyz") == 0


def test_nothing_outlives_a_session_that_is_killed(control_plane: ControlPlane, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", STARTS_ONE_AND_WAITS, str(tmp_path)]
    session = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    try:
        assert session.stdout is not None
        pids = [int(pid) for pid in session.stdout.readline().split()]
        assert len(pids) == 3
        assert all(runs(pid) for pid in pids)
    finally:
        session.kill()
        session.communicate()
    eventually(lambda: not any(runs(pid) for pid in pids), 10.0)


def runs(pid: int) -> bool:
    """Is that process one of the control plane's (and no other that got its number)?"""
    try:
        return Path(f"/proc/{pid}/exe").readlink() == binary()
    except OSError:
        return False


def test_a_cached_binary_is_not_built_again_and_another_module_is_another_binary(tmp_path: Path) -> None:
    module = tmp_path / "testbed"
    module.mkdir()
    for name in ("build.py", "main.go", "go.mod", "go.sum"):
        (module / name).write_bytes((Path(__file__).parents[2] / "testbed" / name).read_bytes())
    shutil.copytree(Path(__file__).parents[2] / "testbed" / "controller", module / "controller")
    environ = {**os.environ, "RAYFLEET_CACHE": str(tmp_path / "cache")}

    def asked(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(module / "build.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environ, check=False)

    absent = asked("--path")
    place = Path(absent.stdout.strip())
    assert (absent.returncode, place.parent) == (1, tmp_path / "cache")
    place.parent.mkdir()
    place.write_text("as if built")
    place.with_name(controller().name).write_text("as if built")
    assert (asked().stdout.strip(), place.read_text()) == (str(place), "as if built")
    with (module / "main.go").open("a") as file:
        file.write("// another\n")
    assert asked("--path").stdout.strip() != str(place)
