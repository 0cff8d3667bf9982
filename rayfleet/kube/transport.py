"""One HTTP exchange with the API server: its deadline, its retries, its warnings. Neighbour `client` knows what to ask."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from types import SimpleNamespace

import aiohttp
from yarl import URL

from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import ApiError, Unreachable, from_response
from rayfleet.kube.warnings import Warnings, WarningSink

ATTEMPTS = 4
FIRST_PAUSE = 0.25
BUSY = (429, 503)
LINE_BUFFER = 2 * 1024 * 1024  # etcd caps objects at about 1.5 MiB; a line is refused beyond twice this

AnswerSink = Callable[[str, int, float], None]
Permit = Callable[[], None]

_permit: ContextVar[Permit | None] = ContextVar("permit", default=None)


@contextmanager
def permitted(permit: Permit) -> Iterator[None]:
    """Requests inside the block call `permit` in the very moment before they leave, after any wait for a connection; what it raises ends
    them unsent."""
    token = _permit.set(permit)
    try:
        yield
    finally:
        _permit.reset(token)


async def ask_permit(_: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams) -> None:
    if context.trace_request_ctx is not None:
        context.trace_request_ctx()


class Transport:
    """Sessions are made on first use, so that a client may be constructed before its event loop runs."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str,
        timeout: float,
        pool: int,
        on_warning: WarningSink | None = None,
        on_answer: AnswerSink | None = None,
    ) -> None:
        self._connection = connection
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}
        self._timeout = timeout
        self._usual = aiohttp.ClientTimeout(total=timeout)
        self._pool = pool
        self._warnings = Warnings(on_warning)
        self._on_answer = on_answer
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def exchange(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = "application/json", idempotent: bool = False
    ) -> bytes:
        """Send a request, return the body of a good answer. Raises ApiError.

        The deadline spans all attempts. An idempotent request that a busy server turns away (429, 503) is sent again after the pause that
        the server asks for, if that still fits.
        """
        begun = time.monotonic()
        timeout = self._usual
        attempt = 1
        while True:
            try:
                return await self._once(method, path, body, content_type, timeout)
            except ApiError as error:
                pause = error.retry_after
                if pause is None:
                    pause = FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.0)
                left = self._timeout - (time.monotonic() - begun)
                if error.status not in BUSY or not idempotent or attempt == ATTEMPTS or pause >= left:
                    raise
            await asyncio.sleep(pause)
            timeout = aiohttp.ClientTimeout(total=left - pause)
            attempt += 1

    async def _once(self, method: str, path: str, body: bytes | None, content_type: str, timeout: aiohttp.ClientTimeout) -> bytes:
        begun = time.perf_counter()
        if self._requests is None:
            self._requests = self._session(self._pool)
        status = 0
        try:
            async with self._requests.request(
                method,
                self._url(path),
                data=body,
                headers=self._request_headers(content_type if body is not None else None),
                timeout=timeout,
                server_hostname=self._connection.server_hostname,
                allow_redirects=False,
                trace_request_ctx=_permit.get(),
            ) as response:
                content = await response.read()
                status = response.status
                self._heed(path, response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(method, path, error) from error
        finally:
            if self._on_answer:
                self._on_answer(method, status, time.perf_counter() - begun)
        if status >= 300:
            raise from_response(status, content, response.headers.get("Retry-After"), time.time())
        return content

    @asynccontextmanager
    async def stream(self, path: str, idle: float | None) -> AsyncIterator[aiohttp.StreamReader]:
        """The body of a GET as it comes. A peer that says nothing for `idle` seconds is given up (Unreachable)."""
        if self._streams is None:
            self._streams = self._session(0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=idle)
        try:
            async with self._streams.get(
                self._url(path),
                headers=self._request_headers(None),
                timeout=timeout,
                read_bufsize=LINE_BUFFER,
                server_hostname=self._connection.server_hostname,
                allow_redirects=False,
            ) as response:
                if response.status >= 300:
                    raise from_response(response.status, await response.read(), response.headers.get("Retry-After"), time.time())
                self._heed(path, response)
                yield response.content
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise unreachable("GET", path, error) from error

    async def close(self) -> None:
        """Close every connection. Streams that are still read end with an error."""
        for session in (self._requests, self._streams):
            if session is not None:
                await session.close()
        self._requests = self._streams = None

    def _session(self, limit: int) -> aiohttp.ClientSession:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(ask_permit)  # despite its name it is called before they are
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=self._connection.ssl or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._usual,
            skip_auto_headers=("Accept-Encoding", "User-Agent", "Content-Type"),
            headers=self._headers,
            auto_decompress=False,
            trace_configs=[trace],
        )

    def _url(self, path: str) -> URL:
        return URL(self._connection.server + path, encoded=True)

    def _request_headers(self, content_type: str | None) -> dict[str, str]:
        headers = {}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            token = self._connection.token()
        except OSError as error:
            raise Unreachable(f"the bearer token cannot be read: {error}", "NoToken") from error
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _heed(self, path: str, response: aiohttp.ClientResponse) -> None:
        if "Warning" in response.headers:
            self._warnings.heard(path, response.headers.getall("Warning"))


def unreachable(method: str, path: str, error: Exception) -> Unreachable:
    reason = "Timeout" if isinstance(error, TimeoutError) else "Unreachable"
    return Unreachable(f"{method} {path.partition('?')[0]}: {error or type(error).__name__}", reason)
