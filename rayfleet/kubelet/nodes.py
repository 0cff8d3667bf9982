"""The nodes that this process stands for: one, or several that share the machine and can be lost one by one.

A node that is named in `settings.stopped` is as a machine whose power was cut: its Pods' processes are killed, and nothing is said of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from rayfleet.api.meta import NODES, PODS
from rayfleet.kube.errors import ApiError, NotFound, ServerError, TooManyRequests, Unreachable
from rayfleet.kubelet import node
from rayfleet.kubelet.house import House
from rayfleet.kubelet.loop import again_and_again
from rayfleet.kubelet.pods import Pods
from rayfleet.runtime.informer import Informer
from rayfleet.scheduling.loss import is_ready
from rayfleet.scheduling.objects import Node

log = logging.getLogger(__name__)
REGISTER_RETRY = 0.5  # seconds


class Nodes:
    def __init__(self, house: House, pods: Pods, cache: Informer[Node]) -> None:
        self.house, self.pods, self.cache, self.settings = house, pods, cache, house.settings
        self.beats: dict[str, asyncio.Task[None]] = {}
        self.told = asyncio.Event()

    async def register(self) -> None:
        """Waits for an API server that is not there yet. Raises ApiError when it refuses."""
        waited = False
        for name in self.wanted():
            while True:
                try:
                    await self.post(name)
                    break
                except (Unreachable, ServerError, TooManyRequests) as error:
                    log.log(logging.DEBUG if waited else logging.WARNING, "waiting for the API server: %s", error)
                    waited = True
                    await asyncio.sleep(error.retry_after or REGISTER_RETRY)
            self.begin(name)
        await self.forget()

    def wanted(self) -> list[str]:
        stopped = stopped_nodes(self.settings.stopped) if self.settings.stopped else frozenset()
        return [name for name in self.settings.nodes if name not in stopped]

    async def post(self, name: str) -> None:
        """What the node is and has. Raises ApiError."""
        settings, has = self.settings, self.house.capacity
        body = node.node_object(name, settings.scheme, pretends=settings.pretends, beside=name in settings.beside)
        offered = {**node.overcommitted(has, settings.overcommit), **settings.devices}
        about = node.node_status(name, settings.address, settings.port, time.time(), {**has, **settings.devices}, offered)
        await node.register(self.house.client, body, about)

    def begin(self, name: str) -> None:
        self.pods.alive.add(name)
        self.beats[name] = asyncio.create_task(again_and_again(f"node {name}", partial(self.beat, name)))

    async def beat(self, name: str) -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(node.renew_for_ever(self.house.client, name, self.settings.lease_seconds * self.settings.patience))
            both.create_task(self.insist(name))

    async def insist(self, name: str) -> None:
        """Tells the node anew when somebody has called it lost: it is here. One that was deleted comes back where nobody else has nodes
        to give; in a cluster of others it is gone until the kubelet's next start, as any kubelet's."""
        denied = asyncio.Event()

        def heed(old: Node | None, new: Node | None) -> None:
            about = new or old
            if about is not None and about.metadata.name == name and (self.settings.bind if new is None else not is_ready(new.status)):
                denied.set()

        self.cache.subscribe(heed)
        while True:
            await denied.wait()
            denied.clear()
            try:
                await self.post(name)
            except ApiError as error:
                log.info("node %s cannot say that it is ready: %s", name, error)
                await asyncio.sleep(error.retry_after or REGISTER_RETRY)
                denied.set()

    async def forget(self) -> None:
        """Takes back nodes of this machine that it had when it was started with more of them, and their Pods, which run no more."""
        known = await self.house.client.list(NODES)
        annotated = (one["metadata"] for one in known if (one["metadata"].get("annotations") or {}).get(node.BESIDE))
        gone = {meta["name"] for meta in annotated} - set(self.settings.nodes)
        if not gone:
            return
        for pod in await self.house.client.list(PODS):
            if pod["spec"].get("nodeName") in gone:
                with contextlib.suppress(NotFound):
                    await self.house.client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace=0)
        for name in sorted(gone):
            with contextlib.suppress(NotFound):
                await self.house.client.delete(NODES, name)

    async def follow(self) -> None:
        """Stops and starts nodes whenever a SIGHUP says that `settings.stopped` has changed."""
        with hang_up(self.told):
            while True:
                await self.told.wait()
                self.told.clear()
                wanted = self.wanted()
                for name in [name for name in self.beats if name not in wanted]:
                    await self.stop(name)
                for name in [name for name in wanted if name not in self.beats]:
                    await self.start(name)

    async def stop(self, name: str) -> None:
        log.warning("node %s is stopped", name)
        self.beats.pop(name).cancel()
        await self.pods.lose(name)

    async def start(self, name: str) -> None:
        log.warning("node %s is started", name)
        try:
            await self.post(name)
        except ApiError as error:
            log.warning("node %s cannot be told of yet: %s", name, error)
        self.begin(name)
        await self.pods.regain(name)

    async def close(self) -> None:
        for task in self.beats.values():
            task.cancel()
        await asyncio.gather(*self.beats.values(), return_exceptions=True)


def stopped_nodes(file: Path) -> frozenset[str]:
    """A file that is not there, or is damaged, stops nothing."""
    try:
        return frozenset(msgspec.json.decode(file.read_bytes(), type=list[str]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


@contextlib.contextmanager
def hang_up(told: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, told.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
