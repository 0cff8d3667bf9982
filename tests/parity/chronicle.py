"""Everything that a watcher sees of one kind in one namespace, in order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from rayfleet.api.meta import Resource
from rayfleet.kube.client import Client
from tests.parity.canonical import Json


@asynccontextmanager
async def chronicle(client: Client, resource: Resource, namespace: str) -> AsyncIterator[list[tuple[str, Json]]]:
    """Yields the list that grows: (ADDED, MODIFIED or DELETED; the object)."""
    page = json.loads(await client.list_page(resource, namespace))
    seen: list[tuple[str, Json]] = []

    async def follow() -> None:
        async for line in client.watch(resource, namespace, resource_version=page["metadata"]["resourceVersion"]):
            change = json.loads(line)
            if change["type"] != "BOOKMARK":
                seen.append((change["type"], change["object"]))

    task = asyncio.create_task(follow())
    try:
        yield seen
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def most_at_once(seen: list[tuple[str, Json]], **labels: str) -> int:
    """The largest number of objects with all these labels (`node_type` is ray.io/node-type) that stood at any moment."""
    marks = {f"ray.io/{name.replace('_', '-')}": value for name, value in labels.items()}
    alive: set[str] = set()
    most = 0
    for kind, obj in seen:
        meta: dict[str, Any] = obj["metadata"]
        if not marks.items() <= (meta.get("labels") or {}).items():
            continue
        if kind == "DELETED":
            alive.discard(meta["uid"])
        else:
            alive.add(meta["uid"])
        most = max(most, len(alive))
    return most
