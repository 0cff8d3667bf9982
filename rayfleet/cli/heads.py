"""Which Pod is the head now: of a RayCluster, or of the one that a RayJob or RayService uses at present. Watched, not asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from rayfleet.api.labels import CLUSTER, HEAD, NODE_TYPE
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key, ObjectMeta, Resource
from rayfleet.kube.client import Client
from rayfleet.resources.ports import DEFAULTS, container_ports
from rayfleet.runtime.informer import Informer


class Active(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    ray_cluster_name: str = ""


class OwnerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    ray_cluster_name: str = ""
    active_service_status: Active = Active()


class OwnerSpec(msgspec.Struct, frozen=True, gc=False):
    suspend: bool = False


class Owner(msgspec.Struct, frozen=True, gc=False):
    """What a session needs to know of a RayCluster, RayJob or RayService."""

    metadata: ObjectMeta
    spec: OwnerSpec = OwnerSpec()
    status: OwnerStatus = OwnerStatus()


class PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[dict[str, Any], ...] = ()


class PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class Pod(msgspec.Struct, frozen=True):
    """What a session needs to know of a head Pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def port(self, name: str) -> int:
        """Where the named service of Ray listens in this Pod."""
        declared = dict(container_ports(self.spec.containers[0])) if self.spec.containers else {}
        return declared.get(name, DEFAULTS[name])


class Heads:
    """`run` it in a task. `changed` is called when another Pod, or none, is the head."""

    def __init__(self, client: Client, resource: Resource, key: Key, changed: Callable[[Pod | None], None]) -> None:
        self.resource, self.key = resource, key
        self.current: Pod | None = None
        self._changed = changed
        self._owners = Informer(client, resource, Owner, namespace=key.namespace, fields=f"metadata.name={key.name}")
        self._pods = Informer(client, PODS, Pod, namespace=key.namespace, labels=f"{NODE_TYPE}={HEAD}")
        self._there = asyncio.Event()
        self.deleted = asyncio.Event()
        for informer in (self._owners, self._pods):
            informer.subscribe(lambda old, new: self._look())

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._owners.run())
            group.create_task(self._pods.run())

    async def synced(self) -> None:
        await self._owners.synced()
        await self._pods.synced()
        self._look()

    async def head(self) -> Pod:
        """The head; waits for one."""
        while self.current is None:
            await self._there.wait()
        return self.current

    def owner(self) -> Owner | None:
        return self._owners.get(*self.key)

    def _look(self) -> None:
        owner = self.owner()
        if owner is None and self._owners.has_synced:
            self.deleted.set()
        found = self._newest(cluster_of(self.resource, owner)) if owner else None
        before, self.current = self.current, found
        (self._there.set if found else self._there.clear)()
        if (found and found.metadata.uid) != (before and before.metadata.uid):
            self._changed(found)

    def _newest(self, cluster: str) -> Pod | None:
        """The running head Pod that is not on its way out; else the newest running one."""
        heads = [pod for pod in self._pods.values() if pod.metadata.label(CLUSTER) == cluster and pod.status.phase == "Running"]
        return max(heads, key=lambda pod: (pod.metadata.deletion_timestamp is None, pod.metadata.creation_timestamp or ""), default=None)


def cluster_of(resource: Resource, owner: Owner) -> str:
    """The name of the RayCluster; "" as long as there is none."""
    if resource == RAYCLUSTERS:
        return owner.metadata.name
    return owner.status.ray_cluster_name or owner.status.active_service_status.ray_cluster_name
