"""Puts the parts together and runs them, until SIGTERM or SIGINT. Pods live on without it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator

import aiohttp

from rayfleet.api.meta import NODES, PODS, SERVICES
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kubelet import node, substitutes
from rayfleet.kubelet.cgroups import Cgroups
from rayfleet.kubelet.clock import heed_jumps
from rayfleet.kubelet.clusterip import ClusterIPs, everybody
from rayfleet.kubelet.dns import DnsServer
from rayfleet.kubelet.enforcer import NFT, Enforcer
from rayfleet.kubelet.events import Events
from rayfleet.kubelet.evictions import Evictions
from rayfleet.kubelet.house import House
from rayfleet.kubelet.images import Images
from rayfleet.kubelet.loop import again_and_again
from rayfleet.kubelet.network import Network, has
from rayfleet.kubelet.nodes import Nodes
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.kubelet.pods import Pods
from rayfleet.kubelet.resolver import Resolver
from rayfleet.kubelet.server import Server
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.kubelet.unheeded import Teller
from rayfleet.runtime.informer import Informer
from rayfleet.scheduling.collector import Collector
from rayfleet.scheduling.node_controller import NodeController
from rayfleet.scheduling.objects import Node
from rayfleet.scheduling.scheduler import Scheduler

log = logging.getLogger(__name__)
STARTED_AT_ONCE = 8  # sandboxes


class Kubelet:
    def __init__(self, client: Client, settings: KubeletSettings) -> None:
        self.client, self.settings = client, settings
        self.network = Network(settings)
        self.pod_cache: Informer[Pod] = Informer(client, PODS, Pod)
        self.service_cache: Informer[Service] = Informer(client, SERVICES, Service)
        events = Events(client, settings.node)
        self.enforcer = Enforcer(client, self.network, events, self.pod_cache) if has(NFT) else None
        self.house = House(
            settings=settings,
            client=client,
            network=self.network,
            events=events,
            web=aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0)),
            capacity=node.capacity(len(settings.nodes)),
            cgroups=Cgroups(settings.state),
            images=Images(settings.environment, settings.images),
            enforcer=self.enforcer,
            starting=asyncio.Semaphore(STARTED_AT_ONCE),
        )
        own = "" if settings.bind else f"metadata.name={settings.node}"  # the only one that a control plane lets a kubelet see
        self.node_cache: Informer[Node] = Informer(client, NODES, Node, fields=own)
        self.pods = Pods(self.house, self.pod_cache)
        self.nodes = Nodes(self.house, self.pods, self.node_cache)
        self.server = Server(self.pods)
        self.dns = DnsServer(settings, Resolver(settings, self.pod_cache, self.service_cache))
        lets = self.enforcer.lets if self.enforcer else everybody
        self.cluster_ips = ClusterIPs(settings, self.pod_cache, self.service_cache, lets)
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Returns when Pods are being served. Raises NetworkError, OSError (a port is taken) or ApiError."""
        self.settings.pods.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what Secrets say
        substitutes.write(self.settings.substitutes)
        await self.network.lay()
        await self.nodes.register()
        self.tasks = [asyncio.create_task(cache.run()) for cache in (self.pod_cache, self.service_cache, self.node_cache)]
        await self.pod_cache.synced()
        await self.service_cache.synced()
        await self.server.start()  # first: a second kubelet ends here, before it has touched anything
        await self.dns.start()
        if self.enforcer:
            await self.enforcer.start()
        await self.cluster_ips.start()
        await self.pods.sweep()
        self.pods.start()
        evictions = Evictions(self.pods, self.settings.backoff_scale)
        self.tasks.append(asyncio.create_task(again_and_again("evictions", evictions.run)))
        self.tasks.append(asyncio.create_task(heed_jumps(self.pods.wake, self.settings.backoff_scale)))
        if self.settings.bind:
            self.be_control_plane()
        if self.settings.stopped:
            self.tasks.append(asyncio.create_task(self.nodes.follow()))

    def be_control_plane(self) -> None:
        """What an API server without a scheduler and a controller manager lacks."""
        events = Events(self.client, self.settings.node, "default-scheduler")
        scheduler = Scheduler(self.client, self.pod_cache, self.node_cache, events.record)
        controller = NodeController(self.client, self.pod_cache, self.node_cache, self.settings.patience)
        collector = Collector(self.client, self.pod_cache, self.node_cache, self.settings.patience)
        teller = Teller(self.client, self.house.events, enforced=self.enforcer is not None)
        works = {"scheduler": scheduler.run, "node controller": controller.run, "pod collector": collector.run}
        works["unheeded objects"] = teller.run
        self.tasks += [asyncio.create_task(again_and_again(name, work)) for name, work in works.items()]

    async def close(self) -> None:
        """Ends the kubelet and none of its Pods."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.nodes.close()
        await self.pods.close()
        await self.server.close()
        await self.cluster_ips.close()
        if self.enforcer:
            await self.enforcer.close()
        await self.dns.close()
        await self.house.web.close()


async def run_kubelet(settings: KubeletSettings, *, ready: Callable[[], None] = lambda: None) -> None:
    """Runs inside the fleet's network namespace until SIGTERM or SIGINT; `ready` is called once Pods are being served.

    Raises kube.connection.ConfigError, NetworkError, OSError or ApiError when it cannot start.
    """
    os.umask(0o022)  # containers and their volumes have a runtime's, not that of the shell that this was started from
    settings.state.mkdir(parents=True, exist_ok=True)
    settings.state.chmod(0o700)  # Secrets lie in it as files
    async with Client(load_kubeconfig(settings.kubeconfig), user_agent="rayfleet-kubelet") as client:
        kubelet = Kubelet(client, settings)
        try:
            with stop_signal() as stopped:
                end = asyncio.create_task(stopped.wait())
                start = asyncio.create_task(kubelet.start())
                await asyncio.wait((start, end), return_when=asyncio.FIRST_COMPLETED)
                if start.done():
                    start.result()
                    ready()
                await end
                start.cancel()
        finally:
            await kubelet.close()


@contextlib.contextmanager
def stop_signal() -> Iterator[asyncio.Event]:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
