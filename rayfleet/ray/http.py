"""Calls a head directly: through its Service's name, or at its Pod's address. What has a port of its own is no business of the Service."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol

from rayfleet.permit import present_permit
from rayfleet.ray.answer import Act, Question, Target

if TYPE_CHECKING:
    import aiohttp

REFUSALS = (401, 403)
DEADLINE, SPREAD = 5.0, 0.2  # seconds, and by which part of it at most a call is given up earlier: those that hang would end all at once
MOST = 16 * 1024 * 1024
TOKEN_HEADER = "x-ray-authorization"  # proxies keep `Authorization` for themselves


class Tokens(Protocol):
    """What a head wants to see. `refused`: it wanted to see something else; what is known is to be found out again."""

    def __call__(self, target: Target) -> Awaitable[str]: ...

    def refused(self, target: Target) -> None: ...


class Direct:
    """An `Ask`. `host(target)` names the machine ("": it is not known yet), `tokens` are asked only for heads that want one."""

    def __init__(self, host: Callable[[Target], str], tokens: Tokens) -> None:
        self._host = host
        self._tokens = tokens
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        import aiohttp

        own_port = isinstance(call, Question) and call.port
        host = target.address if own_port else self._host(target)
        if not host:
            raise OSError("the head has no address yet")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30.0),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[asking()],
            )
        headers = await shown(target, self._tokens)
        method, body, port = "GET", None, target.port
        if isinstance(call, Act):
            method, body = call.method, call.body or None
            headers["Content-Type"] = "application/json"
        else:
            port = call.port or port
        try:
            async with self._session.request(
                method,
                f"http://{host}:{port}{call.path}",
                data=body,
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=present_permit(),
                timeout=aiohttp.ClientTimeout(total=DEADLINE * (1 - SPREAD * random.random())),
            ) as answer:
                if answer.status in REFUSALS and target.secret:
                    self._tokens.refused(target)
                return answer.status, await capped(answer)
        except aiohttp.ClientError as error:
            raise OSError(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def asking() -> aiohttp.TraceConfig:
    """Asks in the moment in which a request leaves whether it may (`permit`)."""
    import aiohttp

    async def ask(_: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx()

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(ask)  # despite its name it is called before they are
    return trace


async def shown(target: Target, tokens: Tokens) -> dict[str, str]:
    """The header by which a head that wants a token lets us in. Raises what `tokens` does."""
    return bearing(await tokens(target) if target.secret else "")


def bearing(token: str) -> dict[str, str]:
    return {TOKEN_HEADER: f"Bearer {token}"} if token else {}


async def capped(answer: aiohttp.ClientResponse) -> bytes:
    """Raises OSError when the answer is longer than anything that Ray has to say."""
    content = bytearray()
    async for chunk in answer.content.iter_chunked(65536):
        content += chunk
        if len(content) > MOST:
            raise OSError(f"the answer is longer than {MOST} bytes")
    return bytes(content)
