"""One connection to a port of a Pod, through the API server: SPDY's frames in a WebSocket, as kubectl does it from 1.31 on.

https://github.com/kubernetes/enhancements/blob/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets/README.md
"""

from __future__ import annotations

import asyncio

import aiohttp

from rayfleet.api.meta import PODS, Key
from rayfleet.kube import spdy
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, BadRequest, Unreachable

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
ERROR, DATA = 1, 3  # the numbers of the two streams
PIECE = 32 * 1024
TOO_OLD = "the API server forwards no ports by WebSocket: Kubernetes does from 1.31 on; with an older one use kubectl port-forward"


class NobodyListens(Exception):
    """The Pod is reached, its port is not; the text is the kubelet's."""


async def carry(client: Client, pod: Key, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Between somebody here and a port of the Pod's loopback, until both have said their end. A WebSocket for each connection, so that a
    slow reader holds up none but itself.

    Raises ApiError when the way is refused, Unreachable when it is cut, NobodyListens.
    """
    path = PODS.path(pod.namespace, pod.name, "portforward")
    try:
        async with client.websocket(path, {}, (PROTOCOL,)) as socket:
            if socket.protocol != PROTOCOL:
                raise BadRequest(400, "BadRequest", "another protocol was chosen")
            await exchange(socket, port, reader, writer)
    except BadRequest as error:
        raise BadRequest(400, error.reason, TOO_OLD) from error
    except ApiError as error:
        if error.status:
            await client.request("GET", path)  # is refused as well, and says why
        raise


async def exchange(socket: aiohttp.ClientWebSocketResponse, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    frames = spdy.Writer()
    for stream, kind in ((ERROR, "error"), (DATA, "data")):
        await socket.send_bytes(frames.open(stream, {"streamtype": kind, "port": str(port), "requestid": "0"}))
    await socket.send_bytes(frames.data(ERROR, b"", last=True))
    sending = asyncio.create_task(send(socket, frames, reader))
    try:
        await receive(socket, writer)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def send(socket: aiohttp.ClientWebSocketResponse, frames: spdy.Writer, reader: asyncio.StreamReader) -> None:
    try:
        while piece := await reader.read(PIECE):
            await socket.send_bytes(frames.data(DATA, piece))
        await socket.send_bytes(frames.data(DATA, b"", last=True))
    except OSError:  # who spoke is gone: nobody is left to hear the rest
        await socket.close()


async def receive(socket: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter) -> None:
    """Until both streams have ended; an error that is told ends both."""
    frames, words, open_streams = spdy.Reader(), b"", {ERROR, DATA}
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY:
            continue
        for frame in frames.feed(message.data):
            if frame.kind == 0 and frame.stream == DATA:
                writer.write(frame.data)
                await writer.drain()
            elif frame.kind == 0 and frame.stream == ERROR:
                words += frame.data
            elif frame.kind != spdy.RST_STREAM:
                continue
            if frame.last or frame.kind == spdy.RST_STREAM:
                open_streams.discard(frame.stream)
                if frame.stream == DATA and not words and writer.can_write_eof():
                    writer.write_eof()
        if not open_streams or (words and ERROR not in open_streams):
            break
    if words:
        raise NobodyListens(words.decode(errors="replace"))
    if DATA in open_streams:
        raise Unreachable("the connection to the Pod was cut")
