"""The kubelet's HTTP: the logs of its containers, for the API server to hand on."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from rayfleet.kubelet.attempt import History, read_histories
from rayfleet.kubelet.logs import Wanted, read
from rayfleet.kubelet.pods import Pods
from rayfleet.kubelet.status import seconds_of
from rayfleet.kubelet.worker import Worker

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    def __init__(self, pods: Pods) -> None:
        self.pods, self.settings = pods, pods.house.settings

        @web.middleware
        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self.admit(request, handler)

        self.app = web.Application(middlewares=[admit])
        self.app.router.add_get("/healthz", self.healthz)
        self.app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self.container_logs)
        self.runner = web.AppRunner(self.app, access_log=None, shutdown_timeout=1.0)

    async def start(self) -> None:
        """Raises OSError when the port is taken."""
        await self.runner.setup()
        await web.TCPSite(self.runner, self.settings.address, self.settings.port, reuse_address=True).start()

    async def close(self) -> None:
        await self.runner.cleanup()

    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.settings.token and not hmac.compare_digest(shown.encode(), self.settings.token.encode()):
            raise web.HTTPUnauthorized(text="Unauthorized")
        return await handler(request)

    async def healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def container_logs(self, request: web.Request) -> web.StreamResponse:
        worker = self.worker(request.match_info["namespace"], request.match_info["pod"])
        name = request.match_info["container"]
        history = read_histories(worker.directory).get(name, ())
        path = self.log_path(worker, name, history, flag(request, "previous"))
        number = int(path.stem)

        def ended() -> bool:
            lives = worker.histories.get(name, ())
            return worker.done.is_set() or not any(one.attempt == number and one.running for one in lives)

        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        async for piece in read(path, wanted(request), ended):
            await response.write(piece)
        await response.write_eof()
        return response

    def worker(self, namespace: str, name: str) -> Worker:
        for worker in self.pods.workers.values():
            if worker.pod.metadata.key == (namespace, name) and not worker.done.is_set():
                return worker
        raise web.HTTPNotFound(text=f'pod "{name}" is not on this node')

    def log_path(self, worker: Worker, name: str, history: History, previous: bool) -> Path:
        meta = worker.pod.metadata
        if not worker.health.container(name):
            raise web.HTTPNotFound(text=f'container "{name}" not found in pod "{meta.name}"')
        number = (history[-1].attempt if history else -1) - (1 if previous else 0)
        path = worker.directory / "containers" / name / f"{number}.log"
        if path.exists():
            return path
        if previous:
            raise web.HTTPBadRequest(text=f'previous terminated container "{name}" in pod "{meta.name}" not found')
        if history:
            raise web.HTTPBadRequest(text=f'container "{name}" in pod "{meta.name}" could not be started: {history[-1].error}')
        reason, message = worker.waiting.get(name, ("ContainerCreating", ""))
        words = f'container "{name}" in pod "{meta.name}" is waiting to start: {reason}'
        raise web.HTTPBadRequest(text=f"{words} ({message})" if message else words)


def flag(request: web.Request, name: str) -> bool:
    return request.query.get(name, "") in ("1", "true", "True")


def wanted(request: web.Request) -> Wanted:
    def number(name: str) -> int | None:
        text = request.query.get(name)
        if text is None:
            return None
        if not text.isdigit():
            raise web.HTTPBadRequest(text=f"{name} must be a whole number, not {text!r}")
        return int(text)

    since = number("sinceSeconds")
    earliest = time.time() - since if since is not None else None
    if request.query.get("sinceTime"):
        earliest = seconds_of(request.query["sinceTime"])
    return Wanted(flag(request, "follow"), number("tailLines"), earliest, flag(request, "timestamps"), number("limitBytes"))
