"""The operator as it is, in this process: an API server over HTTP, the real manager, the hollow kubelet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.meta import (
    CERTIFICATES,
    INGRESSES,
    ISSUERS,
    JOBS,
    NAMESPACES,
    NETWORKPOLICIES,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from rayfleet.autoscaling.scaler import Scaler
from rayfleet.controllers import kinds_of
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.hollow import Fate, Pod, fate, run_hollow
from rayfleet.ray.pool import Ask, Pool
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.manager import Manager, ManagerSettings
from rayfleet.runtime.visibility import PATIENCE
from tests.issuer.definitions import install
from tests.issuer.issuer import FakeIssuer, Mood, issuing
from tests.local.waiting import SLACK
from tests.parity.canonical import Json
from tests.parity.grounds import Grounds, embedded
from tests.parity.ledger import Entry, Ledger

CHILDREN = (
    PODS,
    SERVICES,
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    SERVICEACCOUNTS,
    ROLES,
    ROLEBINDINGS,
    INGRESSES,
    SECRETS,
    NETWORKPOLICIES,
    ISSUERS,
    CERTIFICATES,
)
RESOURCEQUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
KINDS = {resource.kind: resource for resource in (*CHILDREN, RESOURCEQUOTAS, RAYSERVICES, RAYJOBS, RAYCRONJOBS)}
PACE = 0.05
USUAL = Configuration()
Tap = Callable[[Connection], AbstractAsyncContextManager[Connection]]
Judge = Callable[[Pod], Fate]
Opening = Callable[..., AbstractAsyncContextManager["Stage"]]


@dataclass
class Stage:
    """`client` is the user's, `connection` the operator's way. Every write stands in the ledger, by user agent: user, operator, kubelet."""

    client: Client
    ledger: Ledger
    connection: Connection
    manager: Manager
    namespace: str
    issuer: FakeIssuer | None = None

    async def apply(self, obj: Json) -> None:
        """Raises ApiError when the API server refuses the object."""
        group, _, version = obj["apiVersion"].rpartition("/")
        await self.client.create(KINDS.get(obj["kind"]) or Resource(group, version, RAYCLUSTERS.plural, obj["kind"]), obj)

    def written(self) -> list[Entry]:
        """The operator's, in the stage's own namespace."""
        return self.ledger.of(self.namespace)

    async def limit_pods(self, number: int) -> None:
        """By a quota. Returns when it is enforced."""
        spec = {"hard": {"pods": str(number)}}
        if await found(self.client, RESOURCEQUOTAS, "small", self.namespace):
            await self.client.patch(RESOURCEQUOTAS, "small", self.namespace, {"spec": spec})
        else:
            metadata = {"name": "small", "namespace": self.namespace}
            await self.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec})

        async def enforced() -> bool:
            quota = await found(self.client, RESOURCEQUOTAS, "small", self.namespace)
            return ((quota or {}).get("status") or {}).get("hard") == spec["hard"]

        await until(enforced)

    async def quiet(self, seconds: float) -> None:
        """Waits until nobody has written into its own namespace for so long, of the machine's time."""

        async def silent() -> bool:
            return self.ledger.quiet_for(self.namespace) >= seconds

        await until(silent, 30.0, what="never quiet")

    async def cluster(self, namespace: str, name: str) -> Json | None:
        return await found(self.client, RAYCLUSTERS, name, namespace)

    async def children(self, namespace: str) -> list[Json]:
        """What belongs to a RayCluster, Pods first."""
        lists = await asyncio.gather(*(self.listed(resource, namespace) for resource in CHILDREN))
        listed = [
            {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            for resource, items in zip(CHILDREN, lists, strict=True)
            for item in items
        ]
        return [each for each in listed if belongs(each)]

    async def listed(self, resource: Resource, namespace: str) -> list[Json]:
        try:
            return await self.client.list(resource, namespace)
        except NotFound:  # cert-manager is not everywhere
            return []

    async def pods(self, namespace: str, group: str = "") -> list[Json]:
        """In order of slots; of one group if it is named."""
        listed = await self.client.list(PODS, namespace, labels=f"ray.io/group={group}" if group else "ray.io/group!=headgroup")
        return sorted(listed, key=slot)


def belongs(obj: Json) -> bool:
    """By its owner; a claim that is kept has none."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] in ("RayCluster", "RayService") for owner in owners) or (
        not owners and obj["kind"] == PERSISTENTVOLUMECLAIMS.kind
    )


def slot(pod: Json) -> tuple[int, int, str]:
    labels = pod["metadata"].get("labels") or {}
    replica, host = labels.get("ray.io/worker-group-replica-index", "0"), labels.get("ray.io/replica-host-index", "0")
    return int(replica), int(host), pod["metadata"]["name"]


@asynccontextmanager
async def stage(
    configuration: Configuration = USUAL,
    *,
    delay: float = 0.05,
    clock: Clock = SYSTEM,
    through: Tap | None = None,
    on: Grounds = embedded,
    mood: Mood | None = None,
    ray: Ask | None = None,
    scaler: Scaler | None = None,
    judge: Judge = fate,
) -> AsyncIterator[Stage]:
    """`delay` is how long a Pod takes to get ready, in seconds. `clock` is the operator's; `through` leads it to the server on a detour.
    `mood` is that of an issuer in cert-manager's place; without it there is none. `ray` answers for every head; without it kinds that
    speak to Ray are not looked after; nor are sizes without a `scaler`. `judge` says what the hollow
    kubelet does with a Pod.
    """
    ledger = Ledger()
    async with (
        on(ledger) as ground,
        Client(ground.user, user_agent="user") as client,
        Client(ground.kubelet, user_agent="kubelet") as kubelet,
    ):
        await until(lambda: client.serves(RAYCLUSTERS))
        await open_namespace(client, ground.namespace)
        async with (
            kubelet_of(kubelet, delay, judge),
            issuer_of(ground.user, mood) as issuer,
            (through or direct)(ground.operator) as way,
            operator(way, configuration, clock, ray, scaler) as manager,
        ):
            yield Stage(client, ledger, ground.operator, manager, ground.namespace, issuer)


async def open_namespace(client: Client, name: str) -> None:
    """Returns when Pods may be created in it."""
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await until(lambda: found(client, SERVICEACCOUNTS, "default", name), what=f"no default account in {name}")


async def found(client: Client, resource: Resource, name: str, namespace: str) -> Json | None:
    try:
        answer: Json = await client.get(resource, name, namespace)
        return answer
    except NotFound:
        return None


@asynccontextmanager
async def kubelet_of(client: Client, delay: float, judge: Judge = fate) -> AsyncIterator[None]:
    ready = asyncio.Event()
    task = asyncio.create_task(run_hollow(client, delay=delay, ready=ready.set, judge=judge))
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
async def issuer_of(connection: Connection, mood: Mood | None) -> AsyncIterator[FakeIssuer | None]:
    if mood is None:
        yield None
        return
    async with Client(connection, user_agent="issuer") as client:
        await install(client)
        async with issuing(client, mood) as issuer:
            yield issuer


@asynccontextmanager
async def operator(
    connection: Connection, configuration: Configuration, clock: Clock = SYSTEM, ray: Ask | None = None, scaler: Scaler | None = None
) -> AsyncIterator[Manager]:
    """One operator process, as far as it is one. A swift clock must not make the caches look late."""
    settings = ManagerSettings(user_agent="operator", patience=PATIENCE * getattr(clock, "rate", 1.0))
    pool = Pool(ray, clock) if ray else None
    manager = Manager(connection, kinds_of(configuration, pool, scaler), settings, clock=clock)
    running = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        manager.stop()
        await running
        if pool:
            await pool.close()


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 20.0, *, what: str = "") -> Any:
    """What the condition gives once it is true. Raises TimeoutError, with `what`, when it is not in so many seconds of an idle machine."""
    deadline = time.monotonic() + seconds * SLACK
    while not (answer := await condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what or "the condition was never met")
        await asyncio.sleep(PACE)
    return answer
