"""The embedded API as a process of its own, with an audit log as a Kubernetes API server writes one.

usage: python -m bench.embedded DIRECTORY PORT      credentials and kubeconfigs are made in DIRECTORY; the log is DIRECTORY/audit.jsonl
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.local.credentials import USERS, issue, kubeconfig, tokens
from rayfleet.local.state import State

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def audit(sink: Any, users: dict[str, str]) -> Any:
    """A middleware that writes a line for each request: who, verb, resource, subresource, name, code."""

    @web.middleware
    async def middleware(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        verb, resource, name, subresource = parsed(request)
        line = {"user": users.get(request.headers.get("Authorization", "")[7:], ""), "verb": verb, "resource": resource}
        line |= {"name": name, "subresource": subresource}
        if verb == "watch":
            sink.write(msgspec.json.encode({**line, "code": 200}) + b"\n")
            return await handler(request)
        response = await handler(request)
        sink.write(msgspec.json.encode({**line, "code": response.status}) + b"\n")
        return response

    return middleware


def parsed(request: web.Request) -> tuple[str, str, str, str]:
    """(verb, resource, name, subresource) of a request."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    resource, name, subresource = (*parts, "", "", "")[:3]
    if request.method == "GET":
        return ("watch" if request.query.get("watch") else "get" if name else "list"), resource, name, subresource
    return VERBS.get(request.method, request.method.lower()), resource, name, subresource


async def main(directory: Path, port: int) -> None:
    state = State(directory)
    state.make()
    issue(state)
    for name in USERS:
        state.write(directory / f"{name}.kubeconfig", kubeconfig(state, name, f"https://127.0.0.1:{port}"))
    known = tokens(state)
    server = ApiServer(Store(state.objects / "state.sqlite"), tokens=Tokens(known))
    app = server.app()
    with (directory / "audit.jsonl").open("ab", buffering=1 << 16) as sink:
        app.middlewares.append(audit(sink, {token: user for token, (user, _) in known.items()}))
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        import ssl

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(state.credentials / "server.crt", state.credentials / "server.key")
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(signal.SIGUSR1, sink.flush)
        (directory / "ready").touch()
        await stop.wait()
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
