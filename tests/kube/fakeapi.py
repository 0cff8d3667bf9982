"""A small Kubernetes API over real HTTP that can be told to misbehave: the peer of the tests of the client and the runtime."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from rayfleet.kube.connection import Connection
from tests.kube.fakestore import FakeStore, Refused, selected


@dataclass
class Fault:
    """What happens to the next `times` requests of this method whose path has `path` in it.

    `lost` carries the request out and drops the answer; `hold` waits for the event first; `status` 0 lets the request pass otherwise.
    """

    method: str
    path: str = ""
    status: int = 0
    reason: str = ""
    message: str = "a fault was asked for"
    headers: dict[str, str] = field(default_factory=dict)
    lost: bool = False
    drop: bool = False
    hold: asyncio.Event | None = None
    raw: bytes | None = None
    times: int = 1


class Watcher:
    """One open watch. `None` ends it in good order, bytes are sent as they are, "cut" drops the connection."""

    def __init__(self, plural: str) -> None:
        self.plural = plural
        self.lines: asyncio.Queue[bytes | str | None] = asyncio.Queue()


@dataclass(frozen=True)
class Target:
    plural: str
    namespace: str | None
    name: str
    sub: str


class FakeApi:
    def __init__(self) -> None:
        self.store = FakeStore()
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[Fault] = []
        self.watchers: list[Watcher] = []
        self.unserved: set[str] = set()
        self.warnings: list[str] = []
        self.delays: dict[str, float] = {}
        self.before_write: Callable[[web.Request], Awaitable[None]] | None = None
        self.url = ""

    @property
    def connection(self) -> Connection:
        return Connection(self.url)

    def seen(self, method: str, part: str = "") -> list[str]:
        """The paths of all requests so far of this method with `part` in them; watches are method WATCH."""
        return [path for verb, path in self.requests if verb == method and part in path]

    def tell(self, plural: str, what: bytes | str | None) -> None:
        """Say something to every open watch of a kind (see Watcher)."""
        for watcher in [watcher for watcher in self.watchers if watcher.plural == plural]:
            watcher.lines.put_nowait(what)

    def bookmark(self, plural: str) -> None:
        body = {"kind": "X", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.store.version)}, "spec": {"containers": None}}
        self.tell(plural, line("BOOKMARK", body))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        watching = request.query.get("watch") in ("1", "true")
        verb = "WATCH" if watching else request.method
        self.requests.append((verb, request.path_qs))
        self.headers.append(dict(request.headers))
        body = await request.read()
        fault = self._fault(verb, request.path_qs)
        if fault and fault.hold:
            await fault.hold.wait()
        if fault and fault.drop:
            return drop(request)
        if fault and fault.raw is not None:
            return web.Response(body=fault.raw, content_type="application/json")
        try:
            if fault and fault.status:
                raise Refused(fault.status, fault.reason, fault.message)
            if watching:
                return await self._watch(request)
            answer = self._answer(request, json.loads(body) if body else {})
        except Refused as refused:
            return refusal(refused, fault.headers if fault else {})
        if fault and fault.lost:
            return drop(request)
        response = web.json_response(answer, status=201 if request.method == "POST" else 200)
        for text in self.warnings if request.method in ("POST", "PUT", "PATCH") else ():
            response.headers.add("Warning", f'299 - "{text}"')
        return response

    def _fault(self, verb: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.method == verb and fault.path in path and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def _answer(self, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        target = self._target(request.path)
        if target.plural == "":
            return {"kind": "APIResourceList", "resources": [{"name": name} for name in ("pods", "things") if name not in self.unserved]}
        space, status = target.namespace or "", target.sub == "status"
        match request.method:
            case "GET" if target.name:
                return self.store.get(target.plural, space, target.name)
            case "GET":
                return self._list(request, target)
            case "POST":
                return self.store.create(target.plural, space, body)
            case "PUT":
                return self.store.update(target.plural, space, target.name, body, status)
            case "PATCH":
                return self.store.patch(target.plural, space, target.name, body, status)
            case _:
                return self.store.delete(target.plural, space, target.name, body.get("preconditions") or {})

    def _target(self, path: str) -> Target:
        parts = path.strip("/").split("/")
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = None
        if len(parts) > 2 and parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        plural, name, sub = (*parts, "", "", "")[:3]
        if plural in self.unserved:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return Target(plural, namespace, name, sub)

    def _list(self, request: web.Request, target: Target) -> dict[str, Any]:
        selector = request.query.get("labelSelector", "")
        items = [item for item in self.store.items(target.plural, target.namespace) if selected(item, selector)]
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 0) or len(items) or 1
        more = str(start + limit) if start + limit < len(items) else ""
        return {"metadata": {"resourceVersion": str(self.store.version), "continue": more}, "items": items[start : start + limit]}

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        target = self._target(request.path)
        selector = request.query.get("labelSelector", "")
        past = self.store.since(int(request.query["resourceVersion"]), target.plural)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        watcher = Watcher(target.plural)

        def hear(_: int, kind: str, plural: str, value: dict[str, Any], before: dict[str, Any] | None) -> None:
            if plural != target.plural or target.namespace not in (None, value["metadata"]["namespace"]):
                return
            was, now = selected(before, selector), kind != "DELETED" and selected(value, selector)
            if was or now:
                told = "ADDED" if not was else "DELETED" if not now else kind
                watcher.lines.put_nowait(line(told, value))

        for entry in past:
            hear(*entry)
        self.store.listeners.append(hear)
        self.watchers.append(watcher)
        try:
            await self._serve(watcher, request, response)
        finally:
            self.watchers.remove(watcher)
            self.store.listeners.remove(hear)
        return response

    async def _serve(self, watcher: Watcher, request: web.Request, response: web.StreamResponse) -> None:
        while (what := await watcher.lines.get()) is not None:
            if what == "cut":
                drop(request)
                return
            if delay := self.delays.get(watcher.plural):
                await asyncio.sleep(delay)
            assert isinstance(what, bytes)
            await response.write(what)


def line(kind: str, value: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


def drop(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def refusal(refused: Refused, headers: dict[str, str]) -> web.Response:
    body = {"kind": "Status", "code": refused.code, "reason": refused.reason, "message": refused.message}
    return web.json_response(body, status=refused.code, headers=headers)


@asynccontextmanager
async def running(port: int = 0, api: FakeApi | None = None) -> AsyncIterator[FakeApi]:
    """The server on a loopback port; open watches are dropped at the end."""
    api = api or FakeApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


async def until(condition: Callable[[], Any], deadline: float = 60.0) -> None:
    """Wait for a condition to hold; an AssertionError with the condition's name when it does not within `deadline` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline
    while not condition():
        assert loop.time() < end, f"waited {deadline} s in vain"
        await asyncio.sleep(0.005)
