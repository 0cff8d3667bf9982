"""Faults in front of the embedded API, where there is no webhook to refuse and no etcd to compact: for tests only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """Meets the next `times` requests of this method whose path and query hold `text`.

    `streamed`: the answer is a watch whose one event is the error. `late`: the request is carried out, then its answer is lost.
    """

    status: int
    reason: str
    method: str = "GET"
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    late: bool = False
    times: int = 1
    met: int = 0

    def fits(self, request: web.Request) -> bool:
        return self.met < self.times and request.method == self.method and self.text in request.raw_path

    def answer(self) -> web.Response:
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "a fault of the test"}
        status |= {"reason": self.reason, "code": self.status}
        if self.streamed:
            body = msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
            return web.Response(body=body, content_type="application/json")
        return web.Response(body=msgspec.json.encode(status), status=self.status, content_type="application/json", headers=self.headers)


class Faults:
    """Put around an application: `Faults().around(server.app())`."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self.waiting.append(fault)
        return fault

    def around(self, app: web.Application) -> web.Application:
        app.middlewares.append(self._met)
        return app

    @web.middleware
    async def _met(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        fault = next((each for each in self.waiting if each.fits(request)), None)
        if fault is None:
            return await handler(request)
        fault.met += 1
        if fault.late:
            await handler(request)
            assert request.transport is not None
            request.transport.abort()
        return fault.answer()
