"""One HTTP exchange with the API server: its deadline, its retries, its warnings. Neighbour `client` knows what to ask."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp
from yarl import URL

from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import ApiError, Unauthorized, Unreachable, from_response
from rayfleet.kube.lane import Lane
from rayfleet.kube.warnings import Warnings, WarningSink
from rayfleet.permit import present_permit

ATTEMPTS = 4
FIRST_PAUSE = 0.25
BUSY = (429, 503)
HEARTBEAT = 20.0  # seconds; who does not answer to a ping is gone
LINE_BUFFER = 2 * 1024 * 1024  # etcd caps objects at about 1.5 MiB; a line is refused beyond twice this

Identity = tuple[str | None, int] | None  # the token, and the number of the certificate
AnswerSink = Callable[[str, int, float], None]


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
        self._warnings = Warnings(on_warning)
        self._on_answer = on_answer
        self._requests = Lane(self._session, pool)
        self._streams = Lane(self._session, 0)

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str | None = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool = False,
    ) -> bytes:
        """Send a request, return the body of a good answer. Raises ApiError.

        The deadline spans all attempts. An idempotent request that a busy server turns away (429, 503) is sent again after the pause that
        the server asks for, if that still fits; any request once, when the server does not know us (401) and there are new credentials.
        """
        given = {"Content-Type": content_type} if body is not None else {}
        sent = {**given, **({"Accept": accept} if accept else {}), **(headers or {})}
        begun = time.monotonic()
        timeout = self._usual
        attempt = 1
        renewed = False
        while True:
            known_as = await self._log_in()
            try:
                return await self._once(method, path, body, sent, timeout)
            except Unauthorized:
                if renewed or not await self._rejected(known_as):
                    raise
                renewed = True
                continue
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

    async def _log_in(self) -> Identity:
        """Who we are now, brought up to date; connections of a former certificate are not used again."""
        login = self._connection.login
        if login is None:
            return None
        await login.refresh()
        for lane in (self._requests, self._streams):
            await lane.renew(login.certificate)
        return self._token(), login.certificate

    async def _rejected(self, known_as: Identity) -> bool:
        """After a 401: are there other credentials than those that were turned away?"""
        login = self._connection.login
        if login is None:
            return False
        return (self._token(), login.certificate) != known_as or await login.refresh(rejected=True)

    async def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: aiohttp.ClientTimeout) -> bytes:
        begun = time.perf_counter()
        status = 0
        try:
            async with (
                self._requests.session() as session,
                session.request(
                    method,
                    self._url(path),
                    data=body,
                    headers=self._authorized(headers),
                    timeout=timeout,
                    server_hostname=self._connection.server_hostname,
                    proxy=self._connection.proxy,
                    allow_redirects=False,
                    trace_request_ctx=present_permit(),
                ) as response,
            ):
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
    async def stream(self, path: str, idle: float | None, *, accept: str | None = None) -> AsyncIterator[aiohttp.StreamReader]:
        """The body of a GET as it comes. A peer that says nothing for `idle` seconds is given up (Unreachable)."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=idle)
        known_as = await self._log_in()
        try:
            async with (
                self._streams.session() as session,
                session.get(
                    self._url(path),
                    headers=self._authorized({"Accept": accept} if accept else {}),
                    timeout=timeout,
                    read_bufsize=LINE_BUFFER,
                    server_hostname=self._connection.server_hostname,
                    proxy=self._connection.proxy,
                    allow_redirects=False,
                ) as response,
            ):
                if response.status == 401:
                    await self._rejected(known_as)  # whoever asks again is then let in
                if response.status >= 300:
                    raise from_response(response.status, await response.read(), response.headers.get("Retry-After"), time.time())
                self._heed(path, response)
                yield response.content
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise unreachable("GET", path, error) from error

    @asynccontextmanager
    async def websocket(
        self, path: str, headers: Mapping[str, str], protocols: Collection[str] = ()
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A WebSocket to who stands behind the server's proxy, which `headers` are for. Raises ApiError when it is refused, Unreachable
        when it is cut."""
        known_as = await self._log_in()
        try:
            async with (
                self._streams.session() as session,
                session.ws_connect(
                    self._url(path),
                    headers=self._authorized(dict(headers)),
                    protocols=protocols,
                    heartbeat=HEARTBEAT,
                    max_msg_size=0,
                    server_hostname=self._connection.server_hostname,
                    proxy=self._connection.proxy,
                ) as socket,
            ):
                yield socket
        except aiohttp.WSServerHandshakeError as error:
            if error.status == 401:
                await self._rejected(known_as)
            raise from_response(error.status, b"") from error  # its words are not kept: a plain GET gives them
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable("GET", path, error) from error

    async def close(self) -> None:
        """Close every connection. Streams that are still read end with an error."""
        for lane in (self._requests, self._streams):
            await lane.close()

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

    def _authorized(self, headers: dict[str, str]) -> dict[str, str]:
        token = self._token()
        return {**headers, "Authorization": f"Bearer {token}"} if token else headers

    def _token(self) -> str | None:
        try:
            return self._connection.token()
        except OSError as error:
            raise Unreachable(f"the bearer token cannot be read: {error}", "NoToken") from error

    def _heed(self, path: str, response: aiohttp.ClientResponse) -> None:
        if "Warning" in response.headers:
            self._warnings.heard(path, response.headers.getall("Warning"))


def unreachable(method: str, path: str, error: Exception) -> Unreachable:
    reason = "Timeout" if isinstance(error, TimeoutError) else "Unreachable"
    return Unreachable(f"{method} {path.partition('?')[0]}: {error or type(error).__name__}", reason)
