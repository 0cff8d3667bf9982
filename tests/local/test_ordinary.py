"""The fleet of an ordinary user: all that root's has, nobody else's, and nothing left of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from rayfleet.local import leftovers
from rayfleet.local.state import State
from tests.kubelet.kubectl import Kubectl
from tests.kubelet.namespaces import unenforced
from tests.local.asking import ask
from tests.local.fleet import Fleet, container
from tests.local.ordinary import User, ordinary_user
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces

EXAMPLES = Path(__file__).parents[2] / "examples"
PODS = "/api/v1/namespaces/default/pods"
ASKS = """
import sys, time, urllib.request
for name in sys.argv[1:]:
    while True:
        try:
            print(name, urllib.request.urlopen(f"http://{name}").status)
            break
        except OSError:
            time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    with ordinary_user() as user:
        yield user


@pytest.fixture(scope="module")
def fleet(user: User) -> Iterator[Fleet]:
    fleet = Fleet(user.state, user=user)
    fleet.up()
    yield fleet
    assert "nothing is left" in fleet.run("down", "--delete-data")


def pod(name: str, command: list[str], **spec: Any) -> dict[str, Any]:
    ports = [{"containerPort": 8000}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container(command, readinessProbe=None, livenessProbe=None, ports=ports)], **spec},
    }


def once(fleet: Fleet, name: str, command: list[str], **spec: Any) -> str:
    """What a Pod that runs to its end has said."""
    fleet.apply(pod(name, command, restartPolicy="Never", **spec))
    eventually(lambda: phase(fleet, name) in ("Succeeded", "Failed"), 90.0, f"{name} has ended")
    told = fleet.run("logs", name)
    fleet.send("DELETE", f"{PODS}/{name}")
    return told


def phase(fleet: Fleet, name: str) -> str:
    return (fleet.read(f"{PODS}/{name}") or {"status": {}})["status"].get("phase", "")


@pytest.fixture(scope="module")
def web(fleet: Fleet) -> Fleet:
    """With a Service `web` and a Pod behind it that answers."""
    service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8000}]}
    served = pod("web", ["python", "-m", "http.server", "8000"])
    served["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    fleet.apply(served, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service})
    eventually(lambda: phase(fleet, "web") == "Running", 90.0, "the server runs")
    return fleet


def test_a_pod_reaches_a_service_by_its_names(web: Fleet) -> None:
    names = ["web", "web.default.svc.cluster.local"]
    assert once(web, "asks", ["python", "-c", ASKS, *names]).splitlines() == [f"{name} 200" for name in names]


KNOCKS = """
import sys, urllib.request
for place in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(f"http://{place}", timeout=1).status)
    except OSError:
        print("shut")
"""


@pytest.mark.skipif(bool(unenforced()), reason=unenforced())
def test_a_network_policy_shuts_a_pod(web: Fleet) -> None:
    spec = {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"]}
    web.apply({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "shut"}, "spec": spec})
    places = [f"{web.read(f'{PODS}/web')['status']['podIP']}:8000", "web"]
    eventually(lambda: once(web, "knocks", ["python", "-c", KNOCKS, *places]).split() == ["shut", "shut"], 60.0, "it is shut")
    web.send("DELETE", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/shut")


def test_a_container_has_the_umask_of_a_runtime_and_not_of_its_users_shell(fleet: Fleet) -> None:
    assert once(fleet, "umask", ["sh", "-c", "umask; id -u"]).split() == ["0022", "0"]


def test_what_cannot_be_honoured_is_a_warning_on_the_pod_once(fleet: Fleet) -> None:
    assert once(fleet, "another", ["id", "-u"], securityContext={"runAsUser": 1234}).split() == ["0"]
    for reason in ("UserNotHonoured", "LimitsNotEnforced"):
        told = eventually(lambda reason=reason: events(fleet, "another", reason), 60.0, reason)
        assert [(each["type"], "series" in each) for each in told] == [("Warning", False)]


def events(fleet: Fleet, name: str, reason: str) -> list[dict[str, Any]]:
    found = fleet.read("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return [each for each in found if (each["regarding"]["name"], each["reason"]) == (name, reason)]


@pytest.mark.testbed
def test_kubectl_has_exec_copies_and_forwarded_ports_by_the_kubeconfig_that_up_wrote(web: Fleet, tmp_path: Path) -> None:
    there = Kubectl(web.state.kubeconfig, tmp_path)
    there.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=300s")
    assert there.kubectl("exec", "web", "--", "hostname").strip() == "web"
    there.kubectl("cp", "web:/etc/hostname", str(tmp_path / "copied"))
    assert (tmp_path / "copied").read_text().strip() == "web"
    with there.forwarding("pod/web", 8000) as port, urlopen(f"http://127.0.0.1:{port}") as answer:
        assert answer.status == 200


def test_everything_is_the_users_own_and_closed_to_others(fleet: Fleet, user: User) -> None:
    assert {path.lstat().st_uid for path in [fleet.state.path, *fleet.state.path.rglob("*")]} == {user.uid}
    assert fleet.state.path.stat().st_mode & 0o777 == 0o700
    assert fleet.state.kubeconfig.stat().st_mode & 0o777 == 0o600
    with ordinary_user() as other:
        user.home.chmod(0o755)  # as homes often are
        for word in ("get pods", "up", "down", "logs web"):
            assert "Permission denied" in Fleet(fleet.state, user=other).run(*word.split(), code=1)
        link = f"import socket; socket.socket(socket.AF_UNIX).connect('{fleet.state.path}/relay.sock')"
        refused = subprocess.run(other.command(sys.executable, "-c", link), capture_output=True, text=True, check=False)
        assert "Permission denied" in refused.stderr
    assert all(row["state"] == "alive" for row in fleet.processes().values())


def test_two_users_have_each_a_fleet_of_their_own(fleet: Fleet, user: User) -> None:
    with ordinary_user() as other:
        second = Fleet(other.state, user=other)
        second.up()
        second.apply(pod("mine", ["sleep", "100000"]))
        assert [each["metadata"]["name"] for each in second.read(PODS)["items"]] == ["mine"]
        assert fleet.read(f"{PODS}/mine") is None
        assert server(fleet.state) != server(second.state)
        assert stranger(second.state, server(fleet.state)) == 401
        assert "nothing is left" in second.run("down", "--delete-data")
        assert all(row["state"] == "alive" for row in fleet.processes().values())


def server(state: State) -> str:
    return str(json.loads(state.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])


def stranger(state: State, address: str) -> int:
    """What another fleet's API answers to this fleet's admin who believes any certificate."""
    return ask(state, address, "GET", PODS, verified=False)[0]


def test_down_leaves_nothing_though_a_container_closed_its_directories(user: User) -> None:
    links, mounts = leftovers.links(), Path("/proc/self/mountinfo").read_text()
    with ordinary_user() as someone:
        fleet = Fleet(someone.state, user=someone)
        fleet.up()
        closes = (
            "mkdir -p ~/a/b /tmp/c; touch ~/a/b/file; chmod 0 ~/a/b /tmp/c; chmod 500 ~/a; ln -s / ~/link; echo closed; exec sleep 100000"
        )
        fleet.apply(pod("closed", ["sh", "-c", closes]))
        eventually(lambda: phase(fleet, "closed") == "Running" and "closed" in fleet.run("logs", "closed"), 90.0, "it has closed them")
        assert someone.processes()
        assert "nothing is left" in fleet.run("down", "--delete-data")
        assert list((someone.home / ".local" / "state").iterdir()) == []
    assert leftovers.links() == links
    assert Path("/proc/self/mountinfo").read_text() == mounts


@pytest.mark.parametrize("command", ["up", "doctor"])
def test_where_user_namespaces_are_forbidden_the_setting_is_named_that_mends_it(user: User, command: str) -> None:
    words = user.command_without_namespaces(sys.executable, "-m", "rayfleet", command, "--state", str(user.home / "none"))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sysctl -w user.max_user_namespaces=" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (user.home / "none" / "holder.sock").exists()


@pytest.mark.ray
def test_real_ray_runs_a_job_and_shows_its_dashboard(fleet: Fleet) -> None:
    fleet.up("-f", str(EXAMPLES / "minimal.yaml"))
    counts = "import ray; ray.init(log_to_driver=False); print('NODES', len(ray.nodes()))"
    assert "NODES 2" in fleet.run("job", "submit", "--cluster", "minimal", "--", "python", "-c", counts)
    with urlopen(f"{fleet.dashboard('minimal-head-svc')}/api/version") as answer:
        assert json.load(answer)["ray_version"] == "2.60.0"
