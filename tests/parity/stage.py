"""The operator as it is, in this process: the embedded API over HTTP, the real manager, the hollow kubelet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import (
    CUSTOMRESOURCEDEFINITIONS,
    INGRESSES,
    NAMESPACES,
    PODS,
    RAYCLUSTERS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.cli.controllers import kinds_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.hollow import run_hollow
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.manager import Manager, ManagerSettings
from rayfleet.runtime.visibility import PATIENCE
from tests.parity.canonical import Json
from tests.parity.ledger import Ledger

CHILDREN = (PODS, SERVICES, SERVICEACCOUNTS, ROLES, ROLEBINDINGS, INGRESSES, SECRETS)
RESOURCEQUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
KINDS = {resource.kind: resource for resource in (*CHILDREN, RESOURCEQUOTAS)}
PACE = 0.05
USUAL = Configuration()
Tap = Callable[[Connection], AbstractAsyncContextManager[Connection]]


@dataclass
class Stage:
    """`client` is the user's. Every write of anybody stands in the ledger, by user agent: user, operator, kubelet."""

    client: Client
    ledger: Ledger
    connection: Connection
    manager: Manager

    async def open_namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def namespaces(self) -> list[Json]:
        return await self.client.list(NAMESPACES)

    async def apply(self, obj: Json) -> None:
        """Raises ApiError when the API server refuses the object."""
        group, _, version = obj["apiVersion"].rpartition("/")
        await self.client.create(KINDS.get(obj["kind"]) or Resource(group, version, RAYCLUSTERS.plural, obj["kind"]), obj)

    async def cluster(self, namespace: str, name: str) -> Json | None:
        try:
            found: Json = await self.client.get(RAYCLUSTERS, name, namespace)
            return found
        except NotFound:
            return None

    async def children(self, namespace: str) -> list[Json]:
        """What belongs to a RayCluster, Pods first."""
        lists = await asyncio.gather(*(self.client.list(resource, namespace) for resource in CHILDREN))
        found = [
            {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            for resource, items in zip(CHILDREN, lists, strict=True)
            for item in items
        ]
        return [each for each in found if any(owner["kind"] == "RayCluster" for owner in each["metadata"].get("ownerReferences") or ())]

    async def pods(self, namespace: str, group: str = "") -> list[Json]:
        """In order of slots; of one group if it is named."""
        found = await self.client.list(PODS, namespace, labels=f"ray.io/group={group}" if group else "ray.io/group!=headgroup")
        return sorted(found, key=slot)


def slot(pod: Json) -> tuple[int, int, str]:
    labels = pod["metadata"].get("labels") or {}
    replica, host = labels.get("ray.io/worker-group-replica-index", "0"), labels.get("ray.io/replica-host-index", "0")
    return int(replica), int(host), pod["metadata"]["name"]


@asynccontextmanager
async def stage(
    configuration: Configuration = USUAL, *, delay: float = 0.05, clock: Clock = SYSTEM, through: Tap | None = None
) -> AsyncIterator[Stage]:
    """`delay` is how long a Pod takes to get ready, in seconds. `clock` is the operator's; `through` leads it to the server on a detour."""
    ledger = Ledger()
    app = ApiServer(Store()).app()
    app.middlewares.append(ledger.middleware())
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = Connection(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        async with Client(connection, user_agent="user") as client, Client(connection, user_agent="kubelet") as kubelet:
            for document in crds():
                await client.create(CUSTOMRESOURCEDEFINITIONS, document)
            await until(lambda: client.serves(RAYCLUSTERS))
            async with kubelet_of(kubelet, delay), (through or direct)(connection) as way, operator(way, configuration, clock) as manager:
                yield Stage(client, ledger, connection, manager)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def kubelet_of(client: Client, delay: float) -> AsyncIterator[None]:
    ready = asyncio.Event()
    task = asyncio.create_task(run_hollow(client, delay=delay, ready=ready.set))
    await ready.wait()
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def direct(connection: Connection) -> AsyncIterator[Connection]:
    yield connection


@asynccontextmanager
async def operator(connection: Connection, configuration: Configuration, clock: Clock = SYSTEM) -> AsyncIterator[Manager]:
    """One operator process, as far as it is one. A swift clock must not make the caches look late."""
    settings = ManagerSettings(user_agent="operator", patience=PATIENCE * getattr(clock, "rate", 1.0))
    manager = Manager(connection, kinds_of(configuration), settings, clock=clock)
    running = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        manager.stop()
        await running


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 20.0, *, what: str = "") -> Any:
    """What the condition gives once it is true. Raises TimeoutError, with `what`."""
    deadline = time.monotonic() + seconds
    while not (found := await condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what or "the condition was never met")
        await asyncio.sleep(PACE)
    return found
