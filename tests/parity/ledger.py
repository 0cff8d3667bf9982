"""Who wrote what to the API server, in order: a middleware of the server, or of what stands before it, that counts and asks nobody."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

WRITES = {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}
KINDS = ("status", "other", "events", "fences")


class Meta(msgspec.Struct, frozen=True):
    name: str = ""


class Created(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


@dataclass(frozen=True, slots=True)
class Entry:
    """One write request. `who` is the user agent; `began` and `at` are when it came and when it was answered (monotonic)."""

    who: str
    verb: str
    namespace: str
    resource: str
    name: str
    subresource: str
    code: int
    began: float
    at: float

    @property
    def kind(self) -> str:
        """What the recordings count apart: status, events, other; and the fences, which the peer does not have (see `raycluster.lives`)."""
        if self.resource == "rayclusters":
            return "status" if self.subresource == "status" else "fences"
        return "events" if self.resource == "events" else "other"

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'/' if self.subresource else ''}{self.subresource} {self.name} -> {self.code}"


@dataclass
class Ledger:
    entries: list[Entry] = field(default_factory=list)
    by_namespace: defaultdict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))

    def of(self, namespace: str, who: str = "operator") -> list[Entry]:
        return [entry for entry in self.by_namespace[namespace] if entry.who == who]

    def quiet_for(self, namespace: str) -> float:
        """Seconds since anybody wrote into the namespace."""
        written = self.by_namespace[namespace]
        return time.monotonic() - (written[-1].at if written else 0.0)

    def middleware(self) -> Any:
        @web.middleware
        async def count(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
            if request.method not in WRITES:
                return await handler(request)
            began = time.monotonic()
            response = await handler(request)
            written = entry(request, response, began)
            self.entries.append(written)
            self.by_namespace[written.namespace].append(written)
            return response

        return count


def entry(request: web.Request, response: web.StreamResponse, began: float) -> Entry:
    """What was created has its name in the answer, unless that was passed on as it came."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "", "")[:3]
    if request.method == "POST" and not name and response.status == 201 and isinstance(getattr(response, "body", None), bytes):
        name = msgspec.json.decode(response.body, type=Created).metadata.name
    who = request.headers.get("User-Agent", "")
    return Entry(who, WRITES[request.method], namespace, resource, name, subresource, response.status, began, time.monotonic())


def counted(entries: Iterable[Entry]) -> dict[str, int]:
    found = Counter(entry.kind for entry in entries)
    return {kind: found[kind] for kind in KINDS}
