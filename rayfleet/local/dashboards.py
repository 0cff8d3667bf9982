"""Ports on the host for each Ray head: its dashboard and Serve, also of clusters that come later. It watches, and asks nothing at rest."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from rayfleet.api.meta import PODS, SERVICES, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kubelet.pipe import join, reset
from rayfleet.local.ports import LOOPBACK, Handler, Ports
from rayfleet.local.relay import through
from rayfleet.local.state import State
from rayfleet.runtime.informer import Informer

HEADS = "ray.io/node-type=head"
PORTS = {"dashboard": 8265, "serve": 8000}  # of a head's Service, by name, and the usual numbers
LOG = logging.getLogger("rayfleet.door")


class ServicePort(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    port: int = 0
    target_port: int | str = 0


class ServiceSpec(msgspec.Struct, frozen=True, gc=False):
    selector: dict[str, str] = {}
    ports: tuple[ServicePort, ...] = ()


class Service(msgspec.Struct, frozen=True, gc=False):
    """What a door needs to know of a head's Service."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()

    def port(self, name: str) -> int:
        """The port that the head Pod listens on for this; 0 when the Service has none."""
        for port in self.spec.ports:
            if port.name == name or port.port == PORTS[name]:
                return port.target_port if isinstance(port.target_port, int) and port.target_port else port.port
        return 0


class PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    address: str = msgspec.field(name="podIP", default="")


class Pod(msgspec.Struct, frozen=True, gc=False):
    """What a door needs to know of a head Pod."""

    metadata: ObjectMeta
    status: PodStatus = PodStatus()


async def open_dashboards(state: State, ports: Ports) -> None:
    """Until cancelled."""
    async with Client(load_kubeconfig(state.kubeconfig), user_agent="rayfleet-door") as client:
        pods = Informer(client, PODS, Pod, labels=HEADS)
        services = Informer(client, SERVICES, Service, labels=HEADS)
        changes: asyncio.Queue[tuple[Service | None, Service | None]] = asyncio.Queue()
        services.subscribe(lambda old, new: changes.put_nowait((old, new)))
        dashboards = Dashboards(ports, pods)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(pods.run())
                group.create_task(services.run())
                group.create_task(dashboards.follow(changes))
                await services.synced()
                ports.keep_only({name_of(service, what) for service in services.values() for what in PORTS})
        finally:
            dashboards.close()


class Dashboards:
    """The listening ports, by Service."""

    def __init__(self, ports: Ports, pods: Informer[Pod]) -> None:
        self._ports = ports
        self._pods = pods
        self._servers: dict[str, asyncio.Server] = {}

    async def follow(self, changes: asyncio.Queue[tuple[Service | None, Service | None]]) -> None:
        while True:
            old, new = await changes.get()
            for what in PORTS:
                if new is not None and new.port(what):
                    await self._open(new, what)
                elif new is None and old is not None:
                    self._close(name_of(old, what))

    def close(self) -> None:
        """Close the ports, and remember whose they were."""
        for server in self._servers.values():
            server.close()

    async def _open(self, service: Service, what: str) -> None:
        name = name_of(service, what)
        if name in self._servers:
            return
        try:
            self._servers[name], port = await self._ports.listen(name, self._towards(service, what))
        except OSError as error:
            LOG.error("%s: %s", name, error)
            return
        LOG.info("%s is on http://%s:%d", name, LOOPBACK, port)

    def _close(self, name: str) -> None:
        server = self._servers.pop(name, None)
        if server:
            server.close()
            self._ports.forget(name)
            LOG.info("%s is closed", name)

    def _towards(self, service: Service, what: str) -> Handler:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            address = self._head(service)
            try:
                far = await through(f"{address}:{service.port(what)}") if address else None
            except (OSError, TimeoutError):
                far = None
            if far is None:
                reset(writer)
                return
            await join((reader, writer), far)

        return carry

    def _head(self, service: Service) -> str:
        """The address of the head Pod that is to be asked now: a running one, the newest; "" when there is none."""
        wanted = service.spec.selector.items()
        heads = [
            pod
            for pod in self._pods.values()
            if pod.metadata.namespace == service.metadata.namespace
            and wanted <= (pod.metadata.labels or {}).items()
            and pod.status.phase == "Running"
            and pod.status.address
        ]
        newest = max(heads, key=lambda pod: (pod.metadata.deletion_timestamp is None, pod.metadata.creation_timestamp or ""), default=None)
        return newest.status.address if newest else ""


def name_of(service: Service, what: str) -> str:
    return f"{what}/{service.metadata.namespace}/{service.metadata.name}"
