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
from rayfleet.local.ports import LOOPBACK
from rayfleet.local.relay import towards
from rayfleet.local.state import State
from rayfleet.runtime.informer import Informer

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
        self._servers: dict[int, asyncio.Server] = {}
        self._refused: set[int] = set()
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
                await self._open(self._wanted())

    def close(self) -> None:
        for server in self._servers.values():
            server.close()

    def _heed(self, old: Any, new: Any) -> None:
        self._changed.set()

    def _wanted(self) -> set[int]:
        fronts = forwards(self._services.values(), self._pods.values(), ("", 0))
        return {front.port for front in fronts if front.protocol == "TCP" and front.host in (EVERYWHERE, LOOPBACK)}

    async def _open(self, wanted: set[int]) -> None:
        self._refused &= wanted
        for port in self._servers.keys() - wanted:
            self._servers.pop(port).close()
        for port in sorted(wanted - self._servers.keys() - self._refused):
            try:
                self._servers[port] = await asyncio.start_server(towards(f"{LOOPBACK}:{port}"), LOOPBACK, port, family=socket.AF_INET)
            except OSError as error:
                LOG.error("port %d is asked for by a Service or a Pod and cannot be opened on this machine: %s", port, error)
                self._refused.add(port)
            else:
                LOG.info("port %d is on %s", port, LOOPBACK)
