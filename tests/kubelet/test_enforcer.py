"""NetworkPolicies, as Pods feel them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import NETWORKPOLICIES, PODS, SERVICES
from rayfleet.kubelet import enforcer, kubelet
from rayfleet.kubelet.enforcer import NFT
from tests.kubelet.namespaces import unenforced
from tests.kubelet.test_network import connects
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces
with_nft = pytest.mark.skipif(bool(unenforced()), reason=unenforced())

SERVER = """
import socket, threading
def stream(one):
    while said := one.recv(99): one.sendall(said)
def streams():
    here = socket.create_server(("0.0.0.0", 8000))
    while True: threading.Thread(target=stream, args=(here.accept()[0],), daemon=True).start()
threading.Thread(target=streams, daemon=True).start()
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("0.0.0.0", 8000))
while True: here.sendto(*here.recvfrom(99))
"""
ASK = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if sys.argv[3] == "UDP" else socket.SOCK_STREAM) as one:
    one.settimeout(0.3)
    one.connect((sys.argv[1], int(sys.argv[2])))
    one.sendall(b"x")
    sys.exit(0 if one.recv(1) else 1)
"""
TALKER = """
import itertools, socket, sys, time
with socket.create_connection((sys.argv[1], 8000)) as one:
    for number in itertools.count():
        one.sendall(b"x")
        one.recv(1)
        print(number, flush=True)
        time.sleep(0.05)
"""


def server(name: str, **labels: str) -> dict[str, Any]:
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    return pod(["python", "-c", SERVER], name, labels={"app": name, **labels}, readinessProbe=probe)


def service(name: str) -> dict[str, Any]:
    ports = [{"name": protocol.lower(), "port": 80, "targetPort": 8000, "protocol": protocol} for protocol in ("TCP", "UDP")]
    return {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": ports}}


async def asks(world: World, name: str, address: str, port: int, protocol: str = "TCP") -> bool:
    """Does a process in the Pod get an answer from there, at once?"""
    assert world.kubelet
    (worker,) = (one for one in world.kubelet.pods.workers.values() if one.pod.metadata.name == name)
    return (await worker.setup.execute("main", ["python", "-S", "-c", ASK, address, str(port), protocol], 60))["code"] == 0


@with_nft
async def test_the_way_in_is_open_to_whom_a_policy_names_and_to_the_node(world: World) -> None:
    cluster_ip = (await world.apply(service("a"), SERVICES))["spec"]["clusterIP"]
    await world.apply(server("a"))
    address = (await world.becomes_ready("a"))["podIP"]
    await world.apply(pod(FOR_EVER, "friend", labels={"may": "yes"}))
    await world.apply(pod(["python", "-c", TALKER, address], "stranger"))
    ways = [(address, 8000, "TCP"), (cluster_ip, 80, "TCP"), (address, 8000, "UDP"), (cluster_ip, 80, "UDP")]
    await world.reaches("Running", "friend")
    await until("the stranger talks", lambda: world.log_has("\n1\n", "stranger"))

    ports = [{"port": 8000}, {"port": 8000, "protocol": "UDP"}]
    rule = {"from": [{"podSelector": {"matchLabels": {"may": "yes"}}}], "ports": ports}
    spec = {"podSelector": {"matchLabels": {"app": "a"}}, "ingress": [rule]}
    await world.apply({"metadata": {"name": "p"}, "spec": spec}, NETWORKPOLICIES)

    async def closed() -> bool:
        return not await asks(world, "stranger", *ways[0])

    await until("the policy is in force", closed)
    said = await world.log("stranger")
    for way in ways:
        assert not await asks(world, "stranger", *way)
        assert await until(f"{way} is open to the friend", lambda way=way: asks(world, "friend", *way))
    await until("it reaches itself", lambda: asks(world, "a", cluster_ip, 80))
    await until("the node gets in", lambda: connects(address, 8000))
    await until("the connection of before goes on", lambda: grown(world, said))

    await world.client.patch(PODS, "stranger", "default", {"metadata": {"labels": {"may": "yes"}}})
    await until("a label opens the way", lambda: asks(world, "stranger", *ways[0]))
    await world.client.patch(PODS, "stranger", "default", {"metadata": {"labels": {"may": None}}})
    await until("and closes it", closed)
    assert world.kubelet
    await world.kubelet.close()
    await world.client.delete(NETWORKPOLICIES, "p", "default")
    await world.start_kubelet()
    await until("the Pods are taken over", lambda: world.kubelet and all(one.sandbox for one in world.kubelet.pods.workers.values()))
    await until("the way is open again", lambda: asks(world, "stranger", *ways[0]))
    assert not await world.events("NotEnforced")


async def grown(world: World, before: str) -> bool:
    return len(await world.log("stranger")) > len(before) + 9


TRIES = """
import socket, sys
for host, port in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        with socket.create_connection((host, int(port)), 0.5 if host in sys.argv[1:4:2] else 30) as one:
            one.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            print(host, "reached" if one.recv(9) else "not reached", flush=True)
    except OSError:
        print(host, "not reached", flush=True)
"""


@with_nft
async def test_a_pod_is_held_to_a_policy_of_its_way_out_from_its_first_moment(bare_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = bare_world
    monkeypatch.setattr(enforcer, "SETTLE", 600.0)  # nobody else holds it to anything before the test has ended
    rule = {"to": [{"podSelector": {"matchLabels": {"app": "open"}}}], "ports": [{"port": 8000}]}
    world_too = {"to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.128/25"]}}]}  # all of the world is the test's API here
    spec = {"podSelector": {"matchLabels": {"app": "caller"}}, "policyTypes": ["Egress"], "egress": [rule, world_too]}
    await world.apply({"metadata": {"name": "p"}, "spec": spec}, NETWORKPOLICIES)
    await world.start_kubelet()
    for name in ("open", "shut"):
        await world.apply(service(name), SERVICES)
        await world.apply(server(name))
    found = [(await world.becomes_ready(name))["podIP"] for name in ("shut", "open")]
    shut = [found[0], "8000", "192.0.2.128", "6443", "shut", "80"]
    places = [*shut, found[1], "8000", "192.0.2.127", "6443", "open", "80", "kubernetes", "443", "10.88.0.1", "6443"]
    await world.apply(pod(["python", "-c", TRIES, *places], "caller", restartPolicy="Never"))
    await world.reaches("Succeeded", "caller")
    reached = [line.partition(" ")[2] == "reached" for line in (await world.log("caller")).splitlines()]
    assert reached == [False] * 3 + [True] * 5, "DNS, the API and the node are open to everybody"


async def test_nft_is_not_run_without_a_policy_and_what_it_refuses_stops_nobody(
    bare_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / NFT
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\necho no such kernel >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    await bare_world.start_kubelet()
    await bare_world.apply(pod(FOR_EVER, "a"))
    await bare_world.reaches("Running", "a")
    assert not (tmp_path / "called").exists()
    await bare_world.apply({"metadata": {"name": "p"}, "spec": {"podSelector": {}, "policyTypes": ["Egress"]}}, NETWORKPOLICIES)
    await until("the Pod is told", lambda: bare_world.events("NotEnforced"))
    await bare_world.apply(pod(FOR_EVER, "b"))
    await bare_world.reaches("Running", "b")

    async def told() -> list[str]:
        notes = await bare_world.events("NotEnforced")
        return notes if len(notes) == 2 else []

    assert all("no such kernel" in note for note in await until("both are told", told))


async def test_whoever_reads_a_network_policy_is_told_where_nobody_enforces_it(bare_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "has", lambda name: False)
    await bare_world.start_kubelet()
    await bare_world.apply({"metadata": {"name": "closed"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}, NETWORKPOLICIES)
    assert "not enforced, as the program nft is not there" in (await until("an event", lambda: bare_world.events("NotEnforced")))[0]
