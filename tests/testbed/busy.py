"""A proxy before an API server that says 429 for a while: how API priority and fairness, or a gateway, puts clients off."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

import aiohttp
from aiohttp import web

from testbed.control_plane import ControlPlane

HOP = {"host", "connection", "transfer-encoding", "content-length", "keep-alive", "upgrade"}
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests"}


class Busy:
    """Runs in a thread, so that the test may wait for what happens behind it. `kubeconfig` leads through it, as the one that was given."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path) -> None:
        self._plane = plane
        self._original = json.loads(kubeconfig.read_text())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._methods: Collection[str] = ()
        self._left = 0
        self._retry_after = 0
        self._streams: set[asyncio.Task[None]] = set()
        self._last: dict[tuple[str, str, bytes], float] = {}
        self._pauses: list[float] = []
        self.refused = 0
        self.kubeconfig = kubeconfig

    def __enter__(self) -> Busy:
        self._thread.start()
        port = self._wait(self._start())
        (cluster,) = self._original["clusters"]
        cluster["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig = self._plane.directory / "busy.kubeconfig"
        self.kubeconfig.write_text(json.dumps(self._original))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._wait(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def refuse(self, methods: Collection[str], times: int, retry_after: int) -> None:
        """Put off the next so many requests of these methods."""
        self._methods, self._left, self._retry_after = methods, times, retry_after

    def pauses(self) -> list[float]:
        """For each request that was put off and came again: after how many seconds."""
        return self._pauses

    def cut(self) -> None:
        """Every watch that is open, at once."""
        for task in list(self._streams):
            self._loop.call_soon_threadsafe(task.cancel)

    def _wait(self, work: object) -> object:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)  # type: ignore[arg-type]

    async def _start(self) -> int:
        context = ssl.create_default_context(cafile=str(self._plane.credentials.ca))
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0), auto_decompress=False)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return int(self._runner.addresses[0][1])

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        identity = (request.method, request.path, body)
        if put_off := self._last.pop(identity, None):
            self._pauses.append(time.monotonic() - put_off)
        if request.method in self._methods and self._left > 0 and "watch" not in request.query:
            self._left -= 1
            self.refused += 1
            self._last[identity] = time.monotonic()
            text = json.dumps({**STATUS, "message": "too many requests, please try again later"})
            return web.Response(status=429, headers={"Retry-After": str(self._retry_after)}, text=text, content_type="application/json")
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        url = self._plane.url + request.raw_path
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            if "watch" in request.query:
                task = asyncio.current_task()
                assert task is not None
                self._streams.add(task)
                task.add_done_callback(self._streams.discard)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response
