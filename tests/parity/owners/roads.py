"""Gateways whose controller can be held up: an upgrade goes no further than to the step that is not taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from rayfleet.api.meta import HTTPROUTES, Key, Resource
from rayfleet.kube.client import Client
from tests.gateway.controller import FakeGateway

HALF_WAY = [40, 60]


class Roads(FakeGateway):
    """In the namespaces `held` no route is taken that shares the traffic out like that."""

    def __init__(self, client: Client, held: Iterable[str]) -> None:
        super().__init__(client)
        self.held = set(held)

    async def take(self, resource: Resource, key: Key) -> None:
        route = self.routes.get(*key) if resource == HTTPROUTES else None
        if route is None or key.namespace not in self.held or sorted(route.weights.values()) != HALF_WAY:
            await super().take(resource, key)

    def release(self, namespace: str) -> None:
        self.held.discard(namespace)
        for route in self.routes.values():
            self.due.put_nowait((HTTPROUTES, route.metadata.key))


@asynccontextmanager
async def open_roads(client: Client, held: Iterable[str]) -> AsyncIterator[Roads]:
    roads = Roads(client, held)
    task = asyncio.create_task(roads.run())
    try:
        yield roads
    finally:
        task.cancel()
        await asyncio.wait([task])
