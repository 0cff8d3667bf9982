"""A client of the server under test, as plain as curl."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec

Obj = dict[str, Any]

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass
class Answer:
    status: int
    body: Any
    warnings: list[str] = field(default_factory=list)

    @property
    def meta(self) -> Obj:
        return self.body["metadata"]


class Peer:
    def __init__(self, base: str, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.session = aiohttp.ClientSession(base, headers=headers, timeout=aiohttp.ClientTimeout(total=120), read_bufsize=2**21)

    async def ask(self, method: str, path: str, body: Any = None, media: str = "application/json", **headers: str) -> Answer:
        data = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        async with self.session.request(method, path, data=data, headers={"Content-Type": media, **headers}) as response:
            text = await response.read()
            value = msgspec.json.decode(text) if response.content_type == "application/json" else text.decode()
            return Answer(response.status, value, response.headers.getall("Warning", []))

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, **headers)

    async def create(self, path: str, body: Any) -> Answer:
        return await self.ask("POST", path, body)

    async def put(self, path: str, body: Any) -> Answer:
        return await self.ask("PUT", path, body)

    async def patch(self, path: str, body: Any, media: str = MERGE) -> Answer:
        return await self.ask("PATCH", path, body, media)

    async def delete(self, path: str, body: Any = None) -> Answer:
        return await self.ask("DELETE", path, body)

    async def watch(self, path: str) -> AsyncIterator[Obj]:
        async with self.session.get(path) as response:
            assert response.status == 200, await response.text()
            while line := await response.content.readline():
                yield msgspec.json.decode(line)

    async def close(self) -> None:
        await self.session.close()


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
    """The first true value of the condition. Raises AssertionError at the deadline."""
    end = time.monotonic() + seconds
    while not (value := await condition()):
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.01)
    return value


async def take(events: AsyncIterator[Obj], count: int) -> list[Obj]:
    taken = []
    async with asyncio.timeout(60):
        while len(taken) < count:
            taken.append(await anext(events))
    return taken
