"""What the API server serves: asked at start, and noticed when it comes later."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS, RAYCRONJOBS, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.kube.kept import keeps
from rayfleet.runtime.gate import Answer
from rayfleet.runtime.informer import Informer

if TYPE_CHECKING:
    from rayfleet.kube.connection import Connection

log = logging.getLogger(__name__)

USER_AGENT = "rayfleet-operator"
DEADLINE = 10.0
PAUSE, LONGEST_PAUSE = 0.25, 10.0
LOOK = 600.0  # seconds between two looks of who may not watch definitions, a quarter more or less


async def serves(connection: Connection, resource: Resource) -> bool:
    """Does the API server serve it?"""
    return await answered(connection, lambda client: client.serves(resource)) or False


async def keeps_cron_job_generation(connection: Connection) -> bool:
    """Does it keep `status.observedGeneration` of a RayCronJob? Where the kind is not served yet, our definition is the one to come."""
    return await answered(connection, lambda client: keeps(client, RAYCRONJOBS, "status", "observedGeneration")) is not False


async def answered(connection: Connection, question: Callable[[Client], Awaitable[bool | None]]) -> bool | None:
    """Asked until there is an answer: a wrong guess would make Ingresses in place of Routes, for example."""
    pause = PAUSE
    async with Client(connection, user_agent=USER_AGENT, timeout=DEADLINE) as client:
        while True:
            try:
                return await question(client)
            except Forbidden:
                return False  # its owner does not want it to be known; nobody could make one either
            except ApiError as error:
                log.warning("the API server does not answer: %s; again in %.1f s", error, pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


async def until_served(connection: Connection, resource: Resource | None, *, everywhere: bool = True) -> None:
    """Wait until a custom resource is served that was not; for ever where None is waited for. Its definition is watched, so that nothing is
    asked at rest; who may not watch it, or has no business outside of some namespaces, asks every `LOOK` seconds what is served."""
    if resource is None:
        await asyncio.Event().wait()
        return
    await (until_defined if everywhere else until_seen)(connection, resource)
    log.info("%s is served from now on: beginning anew", resource.api_version)


async def until_seen(connection: Connection, resource: Resource) -> None:
    while True:
        await asyncio.sleep(LOOK * random.uniform(0.75, 1.25))
        if await serves(connection, resource):
            return


async def until_defined(connection: Connection, resource: Resource) -> None:
    there = asyncio.Event()
    async with Client(connection, user_agent=USER_AGENT, timeout=DEADLINE) as client:
        name = f"metadata.name={resource.plural}.{resource.group}"
        found = Informer(client, CUSTOMRESOURCEDEFINITIONS, Answer, fields=name, required=False, on_demand=True, metadata_only=True)
        found.subscribe(lambda _, definition: there.set() if definition else None)
        watching = asyncio.create_task(found.run())
        coming = asyncio.create_task(there.wait())
        try:
            await found.synced()
            if found.is_denied:
                return await until_seen(connection, resource)
            await coming
            while not await serves(connection, resource):  # noqa: ASYNC110  (a moment later than its definition is there)
                await asyncio.sleep(PAUSE)
        finally:
            coming.cancel()
            watching.cancel()
            await asyncio.wait([coming, watching])
