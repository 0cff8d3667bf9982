"""Node ports and host ports on the host's loopback, at the same numbers. It watches, and asks nothing at rest."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

from rayfleet.api.meta import PODS, SERVICES
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kubelet.endpoints import EVERYWHERE, forwards
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.local.datagrams import INWARD, Mouth
from rayfleet.local.ports import LOOPBACK
from rayfleet.local.relay import towards
from rayfleet.local.state import State
from rayfleet.runtime.informer import Informer

Wanted = tuple[str, int]  # protocol and port
SETTLE = 0.05  # seconds in which changes gather before the ports follow
LOG = logging.getLogger("rayfleet.door")


async def open_node_ports(state: State) -> None:
    """Until cancelled."""
    async with Client(load_kubeconfig(state.kubeconfig), user_agent="rayfleet-door") as client:
        node_ports = NodePorts(Informer(client, PODS, Pod), Informer(client, SERVICES, Service))
        try:
            await node_ports.follow()
        finally:
            node_ports.close()


class NodePorts:
    def __init__(self, pods: Informer[Pod], services: Informer[Service]) -> None:
        self._pods, self._services = pods, services
        self._open: dict[Wanted, asyncio.Server | Mouth] = {}
        self._refused: set[Wanted] = set()
        self._changed = asyncio.Event()

    async def follow(self) -> None:
        """Until cancelled."""
        for informer in (self._pods, self._services):
            informer.subscribe(self._heed)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pods.run())
            group.create_task(self._services.run())
            while True:
                await self._changed.wait()
                await asyncio.sleep(SETTLE)
                self._changed.clear()
                await self._follow(self._wanted())

    def close(self) -> None:
        for server in self._open.values():
            server.close()

    def _heed(self, old: Any, new: Any) -> None:
        self._changed.set()

    def _wanted(self) -> set[Wanted]:
        fronts = forwards(self._services.values(), self._pods.values(), ("", 0))
        return {
            (front.protocol, front.port) for front in fronts if front.protocol in ("TCP", "UDP") and front.host in (EVERYWHERE, LOOPBACK)
        }

    async def _follow(self, wanted: set[Wanted]) -> None:
        self._refused &= wanted
        for each in self._open.keys() - wanted:
            self._open.pop(each).close()
        for protocol, port in sorted(wanted - self._open.keys() - self._refused):
            try:
                self._open[protocol, port] = await opened(protocol, port)
            except OSError as error:
                LOG.error("%s port %d is asked for by a Service or a Pod and cannot be opened on this machine: %s", protocol, port, error)
                self._refused.add((protocol, port))
            else:
                LOG.info("%s port %d is on %s", protocol, port, LOOPBACK)


async def opened(protocol: str, port: int) -> asyncio.Server | Mouth:
    """Raises OSError when another program has the port."""
    inside = f"{LOOPBACK}:{port}"
    if protocol == "UDP":
        return Mouth(LOOPBACK, port, INWARD, lambda _: inside)
    return await asyncio.start_server(towards(inside), LOOPBACK, port, family=socket.AF_INET)
