"""Says of Gateways and routes what their controller would say, and shares requests out by the weights of the last route that it took."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from rayfleet.api.gateway import GatewayView, RouteView, decode_gateway, decode_route
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, Key, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError
from rayfleet.runtime.informer import Informer

LONG_AGO = "2026-01-01T00:00:00Z"

OnTaken = Callable[[Mapping[str, int]], None]


def ignore(weights: Mapping[str, int]) -> None: ...


class FakeGateway:
    """`run` it in a task. All Gateways that it sees are one to it, and the route that was changed last counts. `on_taken` hears its weights
    whenever they are others."""

    def __init__(self, client: Client, namespace: str | None = None, on_taken: OnTaken = ignore) -> None:
        self.client, self.on_taken = client, on_taken
        self.gateways: Informer[GatewayView] = Informer(client, GATEWAYS, GatewayView, namespace=namespace, decode=decode_gateway)
        self.routes: Informer[RouteView] = Informer(client, HTTPROUTES, RouteView, namespace=namespace, decode=decode_route)
        self.due: asyncio.Queue[tuple[Resource, Key]] = asyncio.Queue()
        self.weights: dict[str, int] = {}
        self.credits: dict[str, int] = {}
        for resource, informer in ((GATEWAYS, self.gateways), (HTTPROUTES, self.routes)):
            informer.subscribe(lambda old, new, of=resource: self.due.put_nowait((of, new.metadata.key)) if new else None)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.gateways.run())
            group.create_task(self.routes.run())
            while True:
                await self.take(*await self.due.get())

    async def take(self, resource: Resource, key: Key) -> None:
        """What is taken is heeded from then on, and only then is it said."""
        if resource == GATEWAYS:
            if (gateway := self.gateways.get(*key)) is not None:
                await self.say(resource, gateway, gateway.status.conditions or (), ("Accepted", "Programmed"))
        elif (route := self.routes.get(*key)) is not None:
            if route.weights != self.weights:
                self.weights = route.weights
                self.on_taken(self.weights)
            said = route.status.parents[0].conditions if route.status.parents else ()
            await self.say(resource, route, said or (), ("Accepted", "ResolvedRefs"))

    async def say(self, resource: Resource, found: Any, said: Any, types: tuple[str, ...]) -> None:
        generation = found.metadata.generation
        if said and all(each.observed_generation == generation for each in said):
            return
        stamp = {"status": "True", "reason": "Taken", "message": "", "observedGeneration": generation, "lastTransitionTime": LONG_AGO}
        told: dict[str, Any] = {"conditions": [{"type": each, **stamp} for each in types]}
        parent = {"controllerName": "example.test/pretend", "parentRef": {"name": "any"}, **told}
        body = {"status": told if resource == GATEWAYS else {"parents": [parent]}}
        try:
            await self.client.patch(resource, found.name, found.metadata.namespace, body, subresource="status")
        except ApiError as error:  # it is gone, or was changed again
            print(f"{found.name}: {error}", flush=True)

    def turn(self) -> str:
        """The Service that the next request goes to; "" without a route. In any hundred requests each has its share."""
        total = sum(self.weights.values())
        if not total:
            return ""
        self.credits = {name: self.credits.get(name, 0) + weight for name, weight in self.weights.items()}
        name = max(self.credits, key=lambda each: self.credits[each])
        self.credits[name] -= total
        return name


@asynccontextmanager
async def heeding(client: Client, namespace: str | None = None, on_taken: OnTaken = ignore) -> AsyncIterator[FakeGateway]:
    """One at work while this lasts."""
    gateway = FakeGateway(client, namespace, on_taken)
    task = asyncio.create_task(gateway.run())
    try:
        yield gateway
    finally:
        task.cancel()
        await asyncio.wait([task])
