"""The process: listeners, certificates, an orderly end."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from rayfleet.apiserver.account_token import new_key
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.http import BODY_SECONDS, Http
from rayfleet.apiserver.store import Store

LONGEST_LINE = 1 << 18
"""bytes of a URL, or a header: a selector may name many"""
STATE_FILE, KEY_FILE = "state.sqlite", "service-account.key"


@dataclass(frozen=True, slots=True)
class ApiServerSettings:
    """`state` is a directory; `listen` are (host, port) pairs for HTTPS; `unix` a socket path for plain HTTP (mode 0600).

    `tokens`: bearer token -> (user, groups). Everybody else gets 401, on the Unix socket too.
    """

    state: Path
    listen: tuple[tuple[str, int], ...] = ()
    unix: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    authority: Path | None = None
    """what signed `tls_cert`: Pods find it in the ConfigMap kube-root-ca.crt"""
    tokens: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    kubelet_token: str = ""
    """what kubelets are shown when they are asked for logs, and for the streams of containers"""
    window: int = 10_000
    """changes kept per resource for watches that come back"""


class ApiServer:
    """The server without a process of its own. `tokens` None lets everybody in: for tests in one process."""

    def __init__(self, store: Store, *, tokens: Tokens | None = None, api: Api | None = None, patience: float = BODY_SECONDS) -> None:
        self.api = api or open_api(store)
        self._http = Http(self.api, tokens, patience)

    def app(self) -> web.Application:
        return self._http.app()


async def serve(settings: ApiServerSettings, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serves until SIGTERM or SIGINT. Raises OSError (address in use), sqlite3.Error (state in use), Damaged (state unreadable)."""
    settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = settings.authority.read_text() if settings.authority else ""
    store = Store(settings.state / STATE_FILE, window=settings.window)
    api = open_api(store, authority=authority, key=_key(settings.state), kubelet_token=settings.kubelet_token)
    if store.journal is not None:
        store.journal.keep_copy()
    server = ApiServer(api.store, tokens=Tokens(settings.tokens), api=api)
    # Kubernetes reads no compressed bodies, and a small one can become a large one.
    quiet: dict[str, Any] = {"access_log": None, "handler_cancellation": True, "auto_decompress": False}
    quiet |= {"max_line_size": LONGEST_LINE, "max_field_size": LONGEST_LINE}
    runner = web.AppRunner(server.app(), shutdown_timeout=2.0, **quiet)
    await runner.setup()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    try:
        await _listen(runner, settings)
        ready()
        await stop.wait()
    finally:
        await runner.cleanup()


def _key(state: Path) -> bytes:
    """Signs the tokens of service accounts; made once."""
    file = state / KEY_FILE
    if not file.exists():
        file.touch(mode=0o600)
    if not (key := file.read_bytes()):
        key = new_key()
        file.write_bytes(key)
    return key


async def _listen(runner: web.AppRunner, settings: ApiServerSettings) -> None:
    for host, port in settings.listen:
        await web.TCPSite(runner, host, port, ssl_context=_tls(settings), reuse_address=True).start()
    if settings.unix is not None:
        # A socket file of a killed predecessor would be in the way.
        settings.unix.unlink(missing_ok=True)
        await web.UnixSite(runner, str(settings.unix)).start()
        settings.unix.chmod(0o600)


def _tls(settings: ApiServerSettings) -> ssl.SSLContext | None:
    if settings.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return context
