"""Pods reach the world only where it was asked for. The world is a network namespace of the test's own."""

from __future__ import annotations

import asyncio
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.kubelet import dns
from rayfleet.kubelet.network import tool
from rayfleet.local.names import resolvers
from rayfleet.local.state import State
from tests.kubelet.namespaces import own_network, refusal
from tests.local.fleet import Fleet
from tests.local.ordinary import ordinary_user
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces
WORLD = "192.0.2.1"  # https://www.rfc-editor.org/rfc/rfc5737
TRIES = """
import urllib.request
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
    asks.settimeout(1)
    asks.connect(("192.0.2.1", 443))
    for attempt in range(20):
        try:
            asks.send(b"who is there?")
            print(asks.recv(100).decode(), flush=True)
            break
        except TimeoutError:
            pass
        except OSError as error:
            print(error, flush=True)
            break
for url in ("http://192.0.2.1/", "http://world.example/", "http://192.0.2.1:81/", "http://plain/"):
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode(), flush=True)
    except OSError as error:
        print(str(error.reason), flush=True)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A web server, on two ports, a UDP server, and the machine's resolver, which knows one name."""
    if why := refusal():
        pytest.skip(f"namespaces are refused here: {why}")
    site = tmp_path_factory.mktemp("site")
    (site / "index.html").write_text("the world")
    with own_network():
        for address in (WORLD, *resolvers()):
            if not address.startswith("127."):
                subprocess.run([tool("ip"), "addr", "add", f"{address}/32", "dev", "lo"], check=True)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
        servers = [http.server.ThreadingHTTPServer((WORLD, port), handler) for port in (80, 81)]
        loop = asyncio.new_event_loop()
        for address in resolvers():
            loop.run_until_complete(loop.create_datagram_endpoint(Names, local_addr=(address, dns.PORT)))
        loop.run_until_complete(loop.create_datagram_endpoint(Echo, local_addr=(WORLD, 443)))
        threads = [threading.Thread(target=each, daemon=True) for each in (*(each.serve_forever for each in servers), loop.run_forever)]
        for thread in threads:
            thread.start()
        yield
        for server in servers:
            server.shutdown()
            server.server_close()
        loop.call_soon_threadsafe(loop.stop)
        threads[-1].join()


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.transport.sendto(b"the world heard: " + data, addr)


class Names(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        name, kind, end = dns.read_question(data)
        found = [dns.record(dns.A, bytes(map(int, WORLD.split("."))))] if (name, kind) == ("world.example", dns.A) else []
        self.transport.sendto(dns.reply(data, end, dns.NOERROR, found, 512), addr)


def tried(fleet: Fleet, *words: str) -> list[str]:
    """What a Pod of a fleet hears of the world."""
    try:
        fleet.up(*words)
        tells = {"name": "main", "image": "any", "command": ["python", "-c", TRIES]}
        fleet.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tries"}, "spec": {"containers": [tells], "restartPolicy": "Never"}}
        )
        path = "/api/v1/namespaces/default/pods/tries"
        eventually(lambda: (fleet.read(path) or {}).get("status", {}).get("phase") == "Succeeded", 60.0, "it has tried")
        if not words:
            assert "rayfleet down" in fleet.run("up", "--egress", code=1), "a fleet that runs stays as it is"
        return fleet.run("logs", "tries").splitlines()
    finally:
        fleet.run("down", "--delete-data")


def test_the_world_is_refused_at_once_unless_it_is_asked_for(world: None, tmp_path: Path) -> None:
    refused, unknown = "[Errno 111] Connection refused", "[Errno -3] Temporary failure in name resolution"
    assert tried(Fleet(State(tmp_path / "fleet"))) == [refused, refused, unknown, refused, unknown]


@pytest.mark.parametrize(("ports", "by_81"), [("", "[Errno 111] Connection refused"), ("egressPorts: [80, 81, 443]", "the world")])
def test_with_egress_pods_reach_addresses_and_names_of_the_world_by_some_ports(world: None, ports: str, by_81: str) -> None:
    with ordinary_user() as user:  # who may do least; root does the same
        file = user.home / "local.yaml"
        file.write_text(ports)
        file.chmod(0o644)
        heard = tried(Fleet(user.state, user=user), "--egress", "--config", str(file))
    assert heard[:4] == ["the world heard: who is there?", "the world", "the world", by_81]
    assert heard[4].startswith("[Errno -"), "no Service is called so"
