"""Names and addresses, as Pods see them."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayfleet.api.meta import INGRESSES, PODS, SERVICES
from rayfleet.kubelet import dns
from rayfleet.kubelet.network import Network
from rayfleet.kubelet.resolver import OUTSIDE, Found
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.local import names
from rayfleet.local.state import State
from tests.kubelet.world import World, pod, until

pytestmark = pytest.mark.namespaces
AAAA = 28


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"app": "a"}, "ports": [{"name": "web", "port": 80, "targetPort": "web"}], **spec}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def web_pod(name: str = "a", **spec: Any) -> dict[str, Any]:
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    ports = [{"name": "web", "containerPort": 8000}]
    spec = {"readinessProbe": probe, **spec}
    return pod("exec python -m http.server 8000 --directory /tmp", name, ports=ports, **spec)


async def ask(name: str, kind: int = dns.A, transport: str = "udp") -> tuple[int, int]:
    """(response code, number of answers), from the fleet's resolver."""
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + dns.encode_name(name) + kind.to_bytes(2, "big") + b"\x00\x01"
    if transport == "tcp":
        reader, writer = await asyncio.open_connection("10.88.0.1", 53)
        writer.write(len(query).to_bytes(2, "big") + query)
        answer = await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
        writer.close()
    else:
        waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        channel, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: names.OneAnswer(waiting), remote_addr=("10.88.0.1", 53)
        )
        channel.sendto(query)
        answer = await asyncio.wait_for(waiting, 60)
        channel.close()
    assert answer[:2] == query[:2]
    return answer[3] & 15, int.from_bytes(answer[6:8], "big")


async def test_names(world: World) -> None:
    await world.apply(service("plain"), SERVICES)
    await world.apply(service("headless", clusterIP="None"), SERVICES)
    await world.apply(service("early", clusterIP="None", publishNotReadyAddresses=True), SERVICES)
    await world.apply(web_pod(hostname="h", subdomain="headless"))
    address = (await world.becomes_ready())["podIP"]
    zone = "default.svc.cluster.local"

    async def known() -> bool:
        return await ask(f"headless.{zone}") == (dns.NOERROR, 1)

    await until("the resolver knows the ready Pod", known)
    for transport in ("udp", "tcp"):
        assert await ask(f"plain.{zone}", transport=transport) == (dns.NOERROR, 1)
        assert await ask(f"headless.{zone}", AAAA, transport) == (dns.NOERROR, 0)
        assert await ask(f"absent.{zone}", transport=transport) == (dns.NXDOMAIN, 0)
        assert await ask("example.com", transport=transport) == (dns.REFUSED, 0)
    assert await ask(f"h.headless.{zone}") == (dns.NOERROR, 1)
    for where in ("plain", "headless"):
        assert await ask(f"_web._tcp.{where}.{zone}", dns.SRV) == (dns.NOERROR, 1)
    assert await ask(f"_web._udp.plain.{zone}", dns.SRV) == (dns.NXDOMAIN, 0)
    assert await ask(f"{'.'.join(reversed(address.split('.')))}.in-addr.arpa", dns.PTR) == (dns.NOERROR, 1)
    assert await ask("9.9.88.10.in-addr.arpa", dns.PTR) == (dns.NXDOMAIN, 0)
    assert await ask(f"H.Headless.{zone.upper()}") == (dns.NOERROR, 1)
    assert await ask(f"{address.replace('.', '-')}.default.pod.cluster.local") == (dns.NOERROR, 1)


async def test_names_outside_go_to_the_hosts_resolver_and_one_that_hangs_delays_none_of_ours(
    network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "RESOLVERS", tmp_path / "resolv.conf")
    names.RESOLVERS.write_text("search example.com\nnameserver 127.0.0.9\n")
    settings = KubeletSettings(tmp_path / "kubeconfig", tmp_path, tmp_path, upstream_dns=Path("names.sock"))
    await Network(settings).lay()
    server = dns.DnsServer(settings, SomeNames())
    await server.start()
    assert await ask("example.com") == (dns.REFUSED, 0), "there is no way out"

    class Hosts(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: Any) -> None:
            if b"hangs" not in data:
                found = [dns.record(dns.A, b"\x09" * 4)] * (50 if b"large" in data else 1)
                self.transport.sendto(dns.reply(data, len(data), dns.NOERROR, found, 512), addr)

    async def by_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        query = await dns.read_framed(reader)
        writer.write(dns.framed(dns.reply(query, len(query), dns.NOERROR, [dns.record(dns.A, b"\x09" * 4)] * 50, 0xFFFF)))

    where = ("127.0.0.9", dns.PORT)
    hosts, _ = await asyncio.get_running_loop().create_datagram_endpoint(Hosts, local_addr=where)
    streams = await asyncio.start_server(by_stream, *where)
    door = asyncio.create_task(names.resolve_names(State(tmp_path)))
    await until("the door answers", lambda: (tmp_path / "names.sock").exists())
    for transport in ("udp", "tcp"):
        assert await ask("example.com", transport=transport) == (dns.NOERROR, 1)
    assert await ask("large.example.com", transport="tcp") == (dns.NOERROR, 50)
    hanging = [asyncio.create_task(ask("hangs.example.com")) for _ in range(50)]
    assert await ask("inside") == (dns.NOERROR, 1)
    await until("all of them hang", lambda: server.asked == len(hanging))
    assert not any(task.done() for task in hanging)
    monkeypatch.setattr(dns, "MOST_ASKED", len(hanging))
    assert await ask("example.com") == (dns.SERVFAIL, 0), "no more wait than may"
    for task in (door, *hanging):
        task.cancel()
    hosts.close()
    streams.close()
    await server.close()


class SomeNames:
    """A resolver that knows one name, and for which every other is outside."""

    def find(self, name: str) -> Found:
        return Found(addresses=("10.96.0.9",)) if name == "inside" else OUTSIDE


async def test_a_headless_name_lists_ready_pods_only_unless_asked_for_all(world: World) -> None:
    await world.apply(service("headless", clusterIP="None"), SERVICES)
    await world.apply(service("early", clusterIP="None", publishNotReadyAddresses=True), SERVICES)
    await world.apply(web_pod(readinessProbe={"exec": {"command": ["false"]}, "periodSeconds": 600}))
    await world.reaches("Running")

    async def early() -> bool:
        return await ask("early.default.svc.cluster.local") == (dns.NOERROR, 1)

    await until("the early name has the Pod", early)
    assert await ask("headless.default.svc.cluster.local") == (dns.NOERROR, 0)


async def test_pods_reach_each_other_by_every_way(world: World) -> None:
    entrance = (await world.apply(service("plain"), SERVICES))["spec"]["clusterIP"]
    await world.apply(service("headless", clusterIP="None"), SERVICES)
    await world.apply(web_pod())
    address = (await world.becomes_ready())["podIP"]
    urls = ["http://plain/", "http://plain.default.svc.cluster.local/", "http://headless:8000/", f"http://{address}:8000/"]
    script = f"""
import urllib.request
for url in {urls!r}:
    print(urllib.request.urlopen(url, timeout=60).status, flush=True)
try:
    urllib.request.urlopen("http://example.com/", timeout=60)
except OSError as error:
    print("outside refused")
"""

    async def known() -> bool:
        return await ask("headless.default.svc.cluster.local") == (dns.NOERROR, 1) and await connects(entrance, 80)

    await until("its Services lead to it", known)
    await world.apply(pod(["python", "-c", script], "asker", restartPolicy="Never"))
    await world.reaches("Succeeded", "asker")
    assert (await world.log("asker")).splitlines() == ["200"] * 4 + ["outside refused"]


async def connects(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except ConnectionError:
        return False
    writer.close()
    return True


async def test_a_cluster_ip_follows_its_pods(world: World) -> None:
    address = (await world.apply(service("plain"), SERVICES))["spec"]["clusterIP"]
    assert not await connects(address, 80)
    await world.apply(web_pod())
    await until("the port is open", lambda: connects(address, 80))
    await world.client.delete(PODS, "a", "default")

    async def closed() -> bool:
        return not await connects(address, 80)

    await until("the port is closed", closed)


HOLD = """
import socket
here = socket.create_server(("0.0.0.0", 8000))
held = []
while True:
    held.append(here.accept()[0])
    held[-1].sendall(b"hello")
"""


async def test_who_waits_for_a_pod_by_a_cluster_ip_is_told_when_it_is_killed(world: World) -> None:
    address = (await world.apply(service("plain"), SERVICES))["spec"]["clusterIP"]
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    await world.apply(pod(["python", "-c", HOLD], "a", ports=[{"name": "web", "containerPort": 8000}], readinessProbe=probe))
    await until("the port is open", lambda: connects(address, 80))
    reader, writer = await asyncio.open_connection(address, 80)
    assert await reader.readexactly(5) == b"hello"
    await world.client.delete(PODS, "a", "default", grace=0)
    async with asyncio.timeout(60):
        with suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()


PATIENT = """
import socket
here = socket.create_server(("0.0.0.0", 8000))
while True:
    first = here.accept()[0]
    if first.recv(9):
        while first.recv(9): pass
        here.accept()
        first.sendall(b"done")
    first.close()
"""


async def ends(address: str, port: int) -> bool:
    """Is a connection in which nothing is said closed by who listens?"""
    with suppress(ConnectionError):
        reader, writer = await asyncio.open_connection(address, port)
        writer.write_eof()
        return await reader.read() == b""
    return False


async def test_who_has_no_more_to_say_is_answered_all_the_same(world: World) -> None:
    """A connection that is closed in one direction is carried on, whatever is swept up meanwhile."""
    address = (await world.apply(service("plain"), SERVICES))["spec"]["clusterIP"]
    await world.apply(pod(["python", "-c", PATIENT], "a", ports=[{"name": "web", "containerPort": 8000}]))
    await until("it listens", lambda: ends(address, 80))
    reader, writer = await asyncio.open_connection(address, 80)
    writer.write(b"please")
    writer.write_eof()
    await asyncio.sleep(0.5)  # by then the relay has seen the end; earlier nothing could be swept up, and the test would say nothing
    gc.collect()
    async with asyncio.timeout(60):
        await asyncio.open_connection(address, 80)
        assert await reader.read() == b"done"
    writer.close()


async def test_a_service_whose_pod_listens_to_nobody_breaks_the_connection(world: World) -> None:
    address = (await world.apply(service("plain"), SERVICES))["spec"]["clusterIP"]
    await world.apply(pod(["sleep", "1000"], "a", ports=[{"name": "web", "containerPort": 8000}]))
    await until("the Service has a Pod", lambda: connects(address, 80))
    reader, writer = await asyncio.open_connection(address, 80)
    writer.write_eof()
    with pytest.raises(ConnectionResetError):
        await reader.read()


ECHO = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("0.0.0.0", 8000))
while True:
    said, who = here.recvfrom(9999)
    here.sendto(socket.gethostname().encode() + b" heard " + said, who)
"""


async def test_datagrams_reach_a_service_by_every_way_and_its_answers_come_from_there(world: World) -> None:
    made = await world.apply(
        service("echo", type="NodePort", ports=[{"port": 65535, "targetPort": 8000, "protocol": "UDP", "nodePort": 30053}]), SERVICES
    )
    ports = [{"containerPort": 8000, "hostPort": 5353, "protocol": "UDP"}]
    await world.apply(pod(["python", "-c", ECHO], ports=ports))
    await world.becomes_ready()

    class Asker(asyncio.DatagramProtocol):
        def __init__(self) -> None:
            self.heard: list[bytes] = []

        def datagram_received(self, data: bytes, addr: Any) -> None:
            self.heard.append(data)

    for where in ((made["spec"]["clusterIP"], 65535), ("127.0.0.1", 30053), ("10.88.0.1", 30053), ("127.0.0.1", 5353)):
        transport, asker = await asyncio.get_running_loop().create_datagram_endpoint(Asker, remote_addr=where)

        def heard(transport: Any = transport, asker: Asker = asker) -> list[bytes]:
            transport.sendto(b"x")  # what nobody hears is lost
            return asker.heard

        assert (await until(f"{where} answers", heard))[0] == b"a heard x"
        transport.close()


async def test_ports_of_the_node_lead_to_pods(world: World) -> None:
    both = {"name": "web", "port": 30080, "nodePort": 30080, "targetPort": "web"}  # one number, at different addresses
    made = await world.apply(service("shown", type="NodePort", ports=[both]), SERVICES)
    spec = web_pod()
    spec["spec"]["containers"][0]["ports"][0]["hostPort"] = 81
    await world.apply(spec)
    for port in (30080, 81):
        for address in ("127.0.0.1", "10.88.0.1", *([made["spec"]["clusterIP"]] if port == 30080 else [])):
            await until(f"{address}:{port} is open", lambda port=port, address=address: connects(address, port))
        assert not await connects("192.0.2.1", port), "an address of the world is none of the node's"


async def test_the_api_server_has_its_cluster_ip(world: World) -> None:
    assert await connects("10.96.0.1", 443)


async def test_an_ingress_and_the_cluster_that_made_it_are_told_that_nobody_serves_it(world: World) -> None:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "one", "uid": "u1", "controller": True}
    backend = {"service": {"name": "one-head-svc", "port": {"number": 8265}}}
    body = {"metadata": {"name": "one-head-ingress", "ownerReferences": [owner]}, "spec": {"defaultBackend": backend}}
    await world.apply(body, INGRESSES)

    async def told() -> bool:
        found = msgspec.json.decode(await world.client.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
        about = {(one["regarding"]["kind"], one["regarding"]["name"]) for one in found if one["reason"] == "NotServed"}
        return about == {("Ingress", "one-head-ingress"), ("RayCluster", "one")}

    await until("events", told)
