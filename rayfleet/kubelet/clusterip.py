"""ClusterIPs in user space: a listener for each port of each Service that has a Pod behind it, carrying connections to one of them.

The whole range is local to the fleet's namespace (a route of type local, see network), so a listener needs no address of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Any

from rayfleet.kubelet.endpoints import Address, forwards
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.runtime.informer import Informer

log = logging.getLogger(__name__)
PIECE = 1 << 16
SETTLE = 0.02  # seconds in which changes gather before the listeners follow
CONNECT_TIMEOUT = 5.0


class ClusterIPs:
    def __init__(self, settings: KubeletSettings, pods: Informer[Pod], services: Informer[Service]) -> None:
        self.settings, self.pods, self.services = settings, pods, services
        self.targets: dict[Address, tuple[Address, ...]] = {}
        self.listeners: dict[Address, asyncio.Server] = {}
        self.turns = itertools.count()
        self.changed = asyncio.Event()
        self.following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.pods.subscribe(self.heed)
        self.services.subscribe(self.heed)
        await self.follow()
        self.following = asyncio.create_task(self.follow_for_ever())

    async def close(self) -> None:
        if self.following:
            self.following.cancel()
        for server in self.listeners.values():
            server.close()

    def heed(self, old: Any, new: Any) -> None:
        self.changed.set()

    async def follow_for_ever(self) -> None:
        while True:
            await self.changed.wait()
            await asyncio.sleep(SETTLE)
            self.changed.clear()
            await self.follow()

    async def follow(self) -> None:
        self.targets = forwards(self.services.values(), self.pods.values(), self.settings.api)
        for address in self.listeners.keys() - self.targets.keys():
            self.listeners.pop(address).close()
        for address in sorted(self.targets.keys() - self.listeners.keys()):
            try:
                self.listeners[address] = await asyncio.start_server(self.handler(address), *address)
            except OSError as error:
                log.warning("ClusterIP %s:%d cannot be served: %s", *address, error)

    def handler(self, address: Address) -> Any:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await self.carry(address, reader, writer)
            except (OSError, TimeoutError):
                writer.transport.abort()

        return carry

    async def carry(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to the next Pod in turn that answers."""
        targets = self.targets.get(address, ())
        first = next(self.turns)
        for number in range(len(targets)):
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    far_reader, far_writer = await asyncio.open_connection(*targets[(first + number) % len(targets)])
                break
            except (OSError, TimeoutError):
                continue
        else:
            raise ConnectionRefusedError
        try:
            await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
        finally:
            far_writer.close()
            writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the sender has no more to say, which the receiver is told."""
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
