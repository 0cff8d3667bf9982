"""Names and addresses, as Pods see them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import PODS, SERVICES
from rayfleet.kubelet import dns
from rayfleet.kubelet.network import Network
from rayfleet.kubelet.resolver import OUTSIDE, Found
from rayfleet.kubelet.settings import KubeletSettings
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
            lambda: dns.OneAnswer(waiting), remote_addr=("10.88.0.1", 53)
        )
        channel.sendto(query)
        answer = await asyncio.wait_for(waiting, 5)
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
    assert await ask(f"H.Headless.{zone.upper()}") == (dns.NOERROR, 1)
    assert await ask(f"{address.replace('.', '-')}.default.pod.cluster.local") == (dns.NOERROR, 1)


async def test_names_outside_go_to_the_upstream_when_there_is_one(network: None, tmp_path: Path) -> None:
    settings = KubeletSettings(tmp_path / "kubeconfig", tmp_path, tmp_path, upstream_dns="127.0.0.9")
    await Network(settings).lay()
    server = dns.DnsServer(settings, NoNames())
    await server.start()
    assert await ask("example.com") == (dns.SERVFAIL, 0)

    class Upstream(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: Any) -> None:
            self.transport.sendto(dns.reply(data, len(data), dns.NOERROR, [dns.record(dns.A, b"\x09" * 4)], 512), addr)

    upstream, _ = await asyncio.get_running_loop().create_datagram_endpoint(Upstream, local_addr=("127.0.0.9", dns.PORT))
    for transport in ("udp", "tcp"):
        assert await ask("example.com", transport=transport) == (dns.NOERROR, 1)
    upstream.close()
    await server.close()


class NoNames:
    """A resolver for which every name is outside."""

    def find(self, name: str) -> Found:
        return OUTSIDE


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
    await world.apply(service("plain"), SERVICES)
    await world.apply(service("headless", clusterIP="None"), SERVICES)
    await world.apply(web_pod())
    address = (await world.becomes_ready())["podIP"]
    urls = ["http://plain/", "http://plain.default.svc.cluster.local/", "http://headless:8000/", f"http://{address}:8000/"]
    script = f"""
import urllib.request
for url in {urls!r}:
    print(urllib.request.urlopen(url, timeout=5).status, flush=True)
try:
    urllib.request.urlopen("http://example.com/", timeout=5)
except OSError as error:
    print("outside refused")
"""
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


async def test_the_api_server_has_its_cluster_ip(world: World) -> None:
    assert await connects("10.96.0.1", 443)
