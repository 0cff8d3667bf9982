"""pods/exec, pods/attach and pods/portforward: a WebSocket to the kubelet of the Pod's node, passed on byte for byte.

As kube-apiserver does it for nodes that declare ExtendWebSocketsToKubelet: https://github.com/kubernetes/enhancements/issues/4006
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from aiohttp import web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.kubelets import Kubelet, container_of, dialled, kubelet
from rayfleet.apiserver.status_error import StatusError, bad_request
from rayfleet.apiserver.writing import require_found

STREAMED = frozenset({"exec", "attach", "portforward"})
DIAL_SECONDS = 10.0
PIECE = 64 * 1024
HIGH_WATER = 256 * 1024
"""bytes that wait for a slow kubelet before its caller is asked to wait"""
MOST_WORDS = 64 * 1024
"""of a refusal"""
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_UPGRADE = ("Connection", "Upgrade")


async def stream(call: Call) -> web.StreamResponse:
    """Raises 400 before a WebSocket is wanted and what the kubelet refuses with, 404, 500 when it cannot be reached."""
    pod = require_found(call.api, call.served, call.address.namespace or "", call.address.name).decode()
    path = _path(call, "" if call.address.subresource == "portforward" else container_of(call, pod))
    if not (node := pod["spec"].get("nodeName")):
        raise bad_request(f"pod {call.address.name} does not have a host assigned")
    place = kubelet(call.api, node)
    if not is_upgrade(call):
        raise bad_request("Upgrade request required")
    reader, writer = await _dial(place)
    return await passed_on(call, path, {"Host": f"{place.host}:{place.port}", **place.headers()}, reader, writer)


async def passed_on(
    call: Call, path: str, headers: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> web.StreamResponse:
    """The caller's upgrade asked of a peer with these headers, then every byte until either side ends. Raises StatusError with the peer's
    words when it does not agree."""
    try:
        answered = await _ask(call, path, headers, reader, writer)
        return await _pass_on(call, answered, reader, writer)
    finally:
        writer.close()


def is_upgrade(call: Call) -> bool:
    return "upgrade" in call.request.headers.get("Connection", "").lower()


def _path(call: Call, container: str) -> str:
    subresource, namespace, name = call.address.subresource, call.address.namespace, call.address.name
    if subresource == "portforward":
        ports = [("port", port) for port in call.request.query.getall("ports", [])]
        return f"/portForward/{namespace}/{name}" + (f"?{urlencode(ports)}" if ports else "")
    asked = [(theirs, "1") for ours, theirs in _STREAMS.items() if call.flag(ours)]
    asked += [("command", word) for word in call.request.query.getall("command", [])]
    return f"/{subresource}/{namespace}/{name}/{container}?{urlencode(asked)}"


async def _dial(place: Kubelet) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = None
    if place.scheme == "https":
        # As kube-apiserver without --kubelet-certificate-authority.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            return await asyncio.open_connection(place.host, place.port, ssl=context)
    except OSError as failure:
        raise StatusError(500, "", f"error dialing backend: {dialled(place, failure)}") from failure


async def _ask(
    call: Call, path: str, headers: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> dict[str, str]:
    """The headers with which the peer agrees."""
    given = call.request.headers
    wanted = (name for name in given if name in _UPGRADE or name.lower().startswith("sec-websocket-"))
    asked = {**headers, **{name: ", ".join(given.getall(name)) for name in wanted}}
    lines = [f"{call.request.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        code = int(head[0].split(" ", 2)[1])
        answered = dict(_headers(head[1:]))
        if code == 101:
            return answered
        words = (await reader.read(min(MOST_WORDS, int(answered.get("content-length", MOST_WORDS))))).decode(errors="replace").strip()
    except (OSError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError) as failure:
        raise StatusError(500, "", f"error dialing backend: {failure}") from failure
    raise StatusError(code, "BadRequest" if code == 400 else "InternalError", words or f"the peer answered {code}")


def _headers(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            yield name.lower(), value.strip()


async def _pass_on(call: Call, answered: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> web.StreamResponse:
    """Until either side ends."""
    told = {name.title(): value for name, value in answered.items() if name.startswith("sec-websocket-")}
    response = web.StreamResponse(status=101, headers={"Connection": "Upgrade", "Upgrade": answered.get("upgrade", "websocket"), **told})
    response.force_close()
    await response.prepare(call.request)
    gone = asyncio.Event()
    call.request.protocol.set_parser(_Passage(call.request.transport, writer, gone))
    end = asyncio.create_task(gone.wait())
    back = asyncio.create_task(_copy(reader, response))
    try:
        await asyncio.wait((end, back), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (end, back):
            task.cancel()
        await asyncio.gather(end, back, return_exceptions=True)
        if call.request.transport is not None:
            call.request.transport.close()
    return response


async def _copy(reader: asyncio.StreamReader, response: web.StreamResponse) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE):
            await response.write(piece)


class _Passage:
    """What the caller sends, handed on; in the place where the server's parser of requests was."""

    def __init__(self, caller: asyncio.Transport | None, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self._caller, self._writer, self._gone = caller, writer, gone
        self._waiting: asyncio.Task[None] | None = None

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._writer.write(data)
        if self._waiting is None and self._writer.transport.get_write_buffer_size() > HIGH_WATER and self._caller is not None:
            self._caller.pause_reading()
            self._waiting = asyncio.create_task(self._resume(self._caller))
        return False, b""

    def feed_eof(self) -> None:
        self._gone.set()

    async def _resume(self, caller: asyncio.Transport) -> None:
        with contextlib.suppress(OSError):
            await self._writer.drain()
        self._waiting = None
        caller.resume_reading()
