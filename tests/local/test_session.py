"""What is reached from this machine: sessions, whose addresses stay when the head is new; ports of the node; logs of Pods that are gone."""

from __future__ import annotations

import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rayfleet.kubelet.kept_logs import listed
from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet, idle_cluster, template
from tests.local.session import session
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces
SERVING = ["bash", "-c", "mkdir -p /tmp/site && cd /tmp/site && hostname > index.html && exec python3 -m http.server 8265"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(State(tmp_path_factory.mktemp("session") / "fleet"))
    try:
        fleet.up()
        fleet.apply(idle_cluster("one", workers=0, head=template(command=SERVING)))
        yield fleet
    finally:
        assert end(fleet.state, forget=True).left == ()


def page(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            return str(answer.read().decode()).strip()
    except OSError:
        return ""


def the_head(fleet: Fleet, but: str = "") -> str:
    found: Callable[[], Any] = lambda: [name for name in fleet.pods("one") if name != but]  # noqa: E731
    return str(eventually(found, 30.0, "a head")[0])


def test_the_address_stays_when_the_head_is_killed_and_ctrl_c_ends_it_well(fleet: Fleet) -> None:
    with session(fleet.command("session", "one")) as held:
        port, serve = held.port("dashboard"), held.port("serve")
        head = the_head(fleet)
        eventually(lambda: page(port) == head, 30.0, "the head's page")

        assert page(serve) == ""
        assert f"nobody listens on port 8000 of {head}" in held.hears("serve:")

        fleet.send("DELETE", f"/api/v1/namespaces/default/pods/{head}", {"gracePeriodSeconds": 0})
        new = the_head(fleet, but=head)
        assert new in held.hears(f"The head is {new}")
        eventually(lambda: page(port) == new, 30.0, "the new head's page at the same address")

        held.process.send_signal(signal.SIGINT)
        assert held.hears("The session has ended")
        assert held.process.wait(20) == 0
        assert page(port) == ""


def test_what_hinders_a_session_is_told_with_what_to_do(fleet: Fleet) -> None:
    assert "it has: one" in fleet.run("session", "two", code=1)
    assert "rayservice/NAME" in fleet.run("session", "pod/x", code=2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = fleet.run("session", "one", "--serve-port", str(taken.getsockname()[1]), code=1)
    assert "--serve-port" in told


def test_a_session_ends_with_its_cluster(fleet: Fleet) -> None:
    fleet.apply(idle_cluster("brief", workers=0))
    with session(fleet.command("session", "brief")) as held:
        held.port("serve")
        fleet.run("delete", "raycluster", "brief")
        assert held.hears("raycluster/brief was deleted")
        assert held.process.wait(20) == 1


ECHO = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(("0.0.0.0", 8265))
    while True:
        said, who = one.recvfrom(100)
        one.sendto(b"heard: " + said, who)
"""


def echoed(asks: socket.socket) -> bytes:
    """The answer; b"" when there is none yet."""
    try:
        asks.send(b"me")
        return asks.recv(100)
    except OSError:
        return b""


def test_a_node_port_and_a_host_port_are_on_this_machines_loopback(fleet: Fleet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        own = one.getsockname()[1]  # free in a moment
    datagrams = {"containerPort": 8265, "hostPort": own, "protocol": "UDP"}
    serving = template(command=SERVING, ports=[{"containerPort": 8265, "hostPort": own}, datagrams])
    serving["spec"]["containers"].append({"name": "echo", "image": "any", "command": ["python", "-c", ECHO]})
    fleet.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shown", "labels": {"app": "shown"}}, "spec": serving["spec"]})
    fleet.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "shown"},
            "spec": {"type": "NodePort", "selector": {"app": "shown"}, "ports": [{"port": 80, "targetPort": 8265}]},
        }
    )
    port = fleet.read("/api/v1/namespaces/default/services/shown")["spec"]["ports"][0]["nodePort"]
    for each in (port, own):
        eventually(lambda each=each: page(each) == "shown", 30.0, f"the Pod's page at port {each}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        asks.settimeout(1)
        asks.connect(("127.0.0.1", own))
        assert eventually(lambda: echoed(asks), 30.0, "an answer by UDP") == b"heard: me"
    fleet.run("delete", "service", "shown")
    eventually(lambda: not page(port), 30.0, "the port is closed")
    fleet.run("delete", "pod", "shown")


def test_the_log_of_a_pod_that_is_gone_is_found_by_name_and_by_uid(fleet: Fleet) -> None:
    path, uids = "/api/v1/namespaces/default/pods/tells", []
    for life in ("first", "second"):
        tells = {"name": "main", "image": "any", "command": ["echo", life]}
        spec = {"containers": [tells], "restartPolicy": "Never"}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tells"}, "spec": spec}
        fleet.apply(made)
        uids.append(fleet.read(path)["metadata"]["uid"])
        eventually(lambda: fleet.read(path)["status"].get("phase") == "Succeeded", 30.0)
        if life == "second":
            assert fleet.run("logs", "tells") == "second\n"
            assert fleet.run("logs", "tells", "--previous") == "first\n"
        fleet.send("DELETE", path)
        eventually(lambda: [kept.pod.uid for kept in listed(fleet.state.kept_logs) if kept.pod.name == "tells"] == uids, 30.0)
        if life == "first":  # the Pod's only one
            assert fleet.run("logs", "tells", "--previous") == fleet.run("logs", uids[0], "-p") == "first\n"
    assert fleet.run("logs", "tells", "-p") == "first\n"
    assert [fleet.run("logs", uid) for uid in uids] == ["first\n", "second\n"]
    assert uids[0] in fleet.run("logs", "--kept")
    assert "not found" in fleet.run("logs", "never-was", code=1)
