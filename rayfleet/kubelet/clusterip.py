"""ClusterIPs, node ports and host ports in user space: a listener for each that has a Pod behind it, carrying connections to one of them.

The whole range is local to the fleet's namespace (a route of type local, see network), so a listener needs no address of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rayfleet.kubelet.datagrams import Datagrams, listen
from rayfleet.kubelet.endpoints import EVERYWHERE, Address, Front, forwards
from rayfleet.kubelet.loop import again_and_again
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.kubelet.pipe import Streams, join, reset
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.runtime.informer import Informer

log = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
SETTLE = 0.02  # seconds in which changes gather before the listeners follow
CONNECT_TIMEOUT = 5.0


def everybody(caller: str, target: Address, protocol: str) -> bool:
    """Who is let in where nobody judges."""
    return True


class ClusterIPs:
    """`lets(caller, target, protocol)`: may who has this address be connected to that one? He is refused where no Pod behind a port lets
    him."""

    def __init__(
        self, settings: KubeletSettings, pods: Informer[Pod], services: Informer[Service], lets: Callable[[str, Address, str], bool]
    ) -> None:
        self.settings, self.pods, self.services, self.lets = settings, pods, services, lets
        self.targets: dict[Front, tuple[Address, ...]] = {}
        self.listeners: dict[Front, asyncio.Server | Datagrams] = {}
        self.turns = itertools.count()
        self.changed = asyncio.Event()
        self.following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.pods.subscribe(self.heed)
        self.services.subscribe(self.heed)
        await self.follow()
        self.following = asyncio.create_task(again_and_again("Services", self.follow_for_ever))

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
        self.targets = self.spread(forwards(self.services.values(), self.pods.values(), self.settings.api))
        for front in self.listeners.keys() - self.targets.keys():
            self.listeners.pop(front).close()
        for front in sorted(self.targets.keys() - self.listeners.keys()):
            try:
                self.listeners[front] = await self.listen(front)
            except OSError as error:
                log.warning("%s %s:%d cannot be served: %s", *front, error)

    def spread(self, targets: Mapping[Front, tuple[Address, ...]]) -> dict[Front, tuple[Address, ...]]:
        """Each address of the node on its own: all addresses of the world are local here, and none of them is the node's."""
        own = (LOOPBACK, self.settings.address)
        hosts = {front: own if front.host == EVERYWHERE else (front.host,) for front in targets}
        return {front._replace(host=host): targets[front] for front in targets for host in hosts[front]}

    async def listen(self, front: Front) -> asyncio.Server | Datagrams:
        """Raises OSError."""
        if front.protocol == "UDP":
            return await listen((front.host, front.port), lambda caller: self.open_to(caller, front))
        if front.protocol != "TCP":
            raise OSError("only TCP and UDP are carried")
        # Shared with who listens at all addresses, if anybody does: an exact address comes first.
        return await asyncio.start_server(self.handler(front), front.host, front.port, reuse_port=True)

    def handler(self, front: Front) -> Any:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                far = await self.dial(writer.get_extra_info("peername")[0], front)
            except OSError:
                reset(writer)
                return
            await join((reader, writer), far)

        return carry

    def open_to(self, caller: str, front: Front) -> tuple[Address, ...]:
        return tuple(target for target in self.targets.get(front, ()) if self.lets(caller, target, front.protocol))

    async def dial(self, caller: str, front: Front) -> Streams:
        """A connection to the next Pod in turn that answers and lets the caller in. Raises ConnectionRefusedError."""
        targets = self.open_to(caller, front)
        first = next(self.turns)
        for number in range(len(targets)):
            with suppress(OSError):  # a TimeoutError is one
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    return await asyncio.open_connection(*targets[(first + number) % len(targets)])
        raise ConnectionRefusedError
