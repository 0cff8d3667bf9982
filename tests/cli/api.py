"""A real embedded API server in a thread of the test's process, and a kubeconfig that leads to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store

TOKEN = "a-token"


@contextmanager
def api_server(directory: Path) -> Iterator[Path]:
    """Yields the kubeconfig's path; the server is empty and forgets everything."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, port = asyncio.run_coroutine_threadsafe(serve(), loop).result(20)
    try:
        yield kubeconfig(directory, port)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def serve() -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(ApiServer(Store(":memory:")).app(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, runner.addresses[0][1]


def kubeconfig(directory: Path, port: int) -> Path:
    path = directory / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    user = {"name": "u", "user": {"token": TOKEN}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}
    path.write_text(json.dumps({"current-context": "x", "clusters": [cluster], "users": [user], "contexts": [context]}))
    return path
