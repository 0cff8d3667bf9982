"""The kubelet's HTTP, for the API server to hand on: logs, exec, attach and port-forward.

Source: the paths of https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/server/server.go
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from rayfleet.kube.errors import ApiError
from rayfleet.kube.port_forward import PROTOCOL
from rayfleet.kubelet.attempt import History, read_histories
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.logs import Wanted, read
from rayfleet.kubelet.passage import Passage
from rayfleet.kubelet.pods import Pods
from rayfleet.kubelet.port_forward import forward
from rayfleet.kubelet.remote_command import PROTOCOLS, Conversation, refuse, require
from rayfleet.kubelet.sandbox import SandboxError
from rayfleet.kubelet.serving import admit, tls
from rayfleet.kubelet.status import seconds_of
from rayfleet.kubelet.worker import Worker

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    def __init__(self, pods: Pods) -> None:
        self.pods, self.settings = pods, pods.house.settings

        @web.middleware
        async def ask(request: web.Request, handler: Handler) -> web.StreamResponse:
            admit(request, self.settings)
            return await handler(request)

        self.app = web.Application(middlewares=[ask])
        self.app.router.add_get("/healthz", self.healthz)
        self.app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self.container_logs)
        self.app.router.add_route("*", "/exec/{namespace}/{pod}/{container}", self.execute)
        self.app.router.add_route("*", "/attach/{namespace}/{pod}/{container}", self.attach)
        self.app.router.add_route("*", "/portForward/{namespace}/{pod}", self.port_forward)
        self.runner = web.AppRunner(self.app, access_log=None, shutdown_timeout=1.0)

    async def start(self) -> None:
        """Raises OSError when the port is taken, or a certificate cannot be used."""
        context = tls(self.settings)
        await self.runner.setup()
        await web.TCPSite(self.runner, self.settings.address, self.settings.port, reuse_address=True, ssl_context=context).start()

    async def close(self) -> None:
        await self.runner.cleanup()

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
        with contextlib.suppress(ConnectionResetError):  # whoever read it has left
            async for piece in read(path, wanted(request), ended):
                await response.write(piece)
            await response.write_eof()
        return response

    async def execute(self, request: web.Request) -> web.StreamResponse:
        worker, name = self.container(request)
        require(request, PROTOCOLS)
        tty, stdin = flag(request, "tty"), flag(request, "input")
        try:
            passage = await worker.setup.stream(name, request.query.getall("command", []), stdin=stdin, tty=tty)
        except (SandboxError, ConfigError, ApiError) as error:
            return await refuse(request, str(error))
        return await Conversation.hold(request, passage, tty=tty)

    async def attach(self, request: web.Request) -> web.StreamResponse:
        worker, name = self.container(request)
        require(request, PROTOCOLS)
        spec = worker.health.container(name)
        try:
            passage = await Passage.open(worker.directory, "attach", name=name)
        except SandboxError as error:
            return await refuse(request, str(error))
        if not flag(request, "input"):
            passage.drop("stdin")

        async def hang_up() -> None:
            """An input that is meant for one caller ends with that one."""
            if spec.get("stdinOnce") and flag(request, "input") and worker.sandbox is not None:
                with contextlib.suppress(SandboxError):
                    await worker.sandbox.ask("hang_up", name=name)

        return await Conversation.hold(request, passage, tty=bool(spec.get("tty")), container=name, on_hang_up=hang_up)

    async def port_forward(self, request: web.Request) -> web.StreamResponse:
        worker = self.worker(request.match_info["namespace"], request.match_info["pod"])
        require(request, (PROTOCOL,))
        return await forward(request, worker.directory, worker.uid)

    def container(self, request: web.Request) -> tuple[Worker, str]:
        """The container asked for. Raises 404 when it does not run here."""
        worker, name = self.worker(request.match_info["namespace"], request.match_info["pod"]), request.match_info["container"]
        if name not in worker.running():
            raise web.HTTPNotFound(text=f'container not found ("{name}")')
        return worker, name

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
        reason, message = worker.waiting.get(name) or (told_reason(worker.told, name), "")
        words = f'container "{name}" in pod "{meta.name}" is waiting to start: {reason}'
        raise web.HTTPBadRequest(text=f"{words} ({message})" if message else words)


def told_reason(status: Mapping[str, Any], name: str) -> str:
    """Why the container waits, as the API was told."""
    found = [one for field in ("initContainerStatuses", "containerStatuses") for one in status.get(field) or () if one["name"] == name]
    return found[0]["state"].get("waiting", {}).get("reason", "") if found else "ContainerCreating"


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
