"""Service addresses and node ports."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from rayfleet.apiserver.record import Obj

SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/16")
KUBERNETES_ADDRESS = "10.96.0.1"
NODE_PORTS = range(30000, 32768)
_FIRST = 16


class Addresses:
    """Which are taken. What is free is handed out in turn, so that a released address is not reused at once."""

    def __init__(self, services: Iterable[Obj]) -> None:
        self._addresses: set[str] = set()
        self._ports: set[int] = set()
        self._next = _FIRST
        self._next_port = 0
        for service in services:
            self.take(service)

    def take(self, service: Obj) -> None:
        spec = service.get("spec", {})
        if address := _address(spec):
            self._addresses.add(address)
        self._ports.update(port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort"))

    def release(self, service: Obj) -> None:
        spec = service.get("spec", {})
        self._addresses.discard(_address(spec))
        self._ports.difference_update(port.get("nodePort") for port in spec.get("ports", ()))

    def holds(self, address: str) -> bool:
        return address in self._addresses

    def holds_port(self, port: int) -> bool:
        return port in self._ports

    def free(self) -> str | None:
        """An address nobody has; None when there is none."""
        size = SERVICE_NETWORK.num_addresses - 1
        for _ in range(size):
            address = str(SERVICE_NETWORK[self._next])
            self._next = self._next + 1 if self._next + 1 < size else _FIRST
            if address not in self._addresses:
                return address
        return None

    def free_port(self, besides: set[int]) -> int | None:
        for _ in NODE_PORTS:
            port = NODE_PORTS[self._next_port]
            self._next_port = (self._next_port + 1) % len(NODE_PORTS)
            if port not in self._ports and port not in besides:
                return port
        return None


def _address(spec: Obj) -> str:
    address = spec.get("clusterIP") or ""
    return "" if address == "None" else str(address)
