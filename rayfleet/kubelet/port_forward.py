"""port-forward: connections to ports of a Pod, through one WebSocket that carries SPDY.

For each connection the client opens two streams with the same `requestid`: `error`, on which we say what went wrong, and `data`.
https://github.com/kubernetes/enhancements/blob/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets/README.md
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from pathlib import Path

from aiohttp import WSMsgType, web

from rayfleet.kube import spdy
from rayfleet.kube.port_forward import PROTOCOL
from rayfleet.kubelet.passage import Passage
from rayfleet.kubelet.sandbox import SandboxError

PIECE = 32 * 1024
CONNECT_TIMEOUT = 10.0
PING_EVERY = 30.0


@dataclass(slots=True)
class Pair:
    """One connection's streams, and where its data goes once it is made."""

    port: int
    error: int = 0
    data: int = 0


class Forwarding:
    def __init__(self, web_socket: web.WebSocketResponse, directory: Path, uid: str) -> None:
        self.socket, self.directory, self.uid = web_socket, directory, uid
        self.reader, self.writer = spdy.Reader(), spdy.Writer()
        self.pairs: dict[str, Pair] = {}  # by the client's number for the connection
        self.inputs: dict[int, asyncio.Queue[bytes | None]] = {}  # what the client sends, by the data stream; None: no more
        self.tasks: set[asyncio.Task[None]] = set()
        self.sending = asyncio.Lock()

    async def serve(self) -> None:
        """Until the client goes."""
        try:
            async for message in self.socket:
                if message.type is WSMsgType.BINARY:
                    for frame in self.reader.feed(message.data):
                        await self.heed(frame)
        except (spdy.BadFrame, ConnectionError):
            pass
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def send(self, frame: bytes) -> None:
        async with self.sending:
            await self.socket.send_bytes(frame)

    async def heed(self, frame: spdy.Frame) -> None:
        if frame.kind == spdy.SYN_STREAM:
            await self.open(frame)
        elif frame.kind == spdy.PING:
            await self.send(self.writer.ping(frame.data))
        elif frame.stream in self.inputs and frame.kind in (0, spdy.RST_STREAM):
            if frame.data and frame.kind == 0:
                await self.inputs[frame.stream].put(frame.data)
            if frame.last or frame.kind == spdy.RST_STREAM:
                await self.inputs[frame.stream].put(None)

    async def open(self, frame: spdy.Frame) -> None:
        headers = {name.lower(): value for name, value in frame.headers.items()}
        port = headers.get("port", "")
        pair = self.pairs.setdefault(headers.get("requestid", ""), Pair(int(port) if port.isdigit() else 0))
        if headers.get("streamtype") == "error":
            pair.error = frame.stream
        else:
            pair.data = frame.stream
            self.inputs[frame.stream] = asyncio.Queue(maxsize=16)
        await self.send(self.writer.reply(frame.stream))
        if pair.error and pair.data:
            self.pairs.pop(headers.get("requestid", ""))
            task = asyncio.create_task(self.carry(pair))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def carry(self, pair: Pair) -> None:
        words = ""
        try:
            reader, writer = await self.dial(pair.port)
            try:
                await self.exchange(pair, reader, writer)
            finally:
                writer.close()
        except (OSError, SandboxError, TimeoutError) as error:
            words = f"error forwarding port {pair.port} to pod {self.uid}: {error or type(error).__name__}"
        with contextlib.suppress(ConnectionError):
            await self.send(self.writer.data(pair.error, words.encode(), last=True))
            if words:
                await self.send(self.writer.data(pair.data, b"", last=True))
        queue = self.inputs.pop(pair.data)
        while not queue.empty():  # or whoever waits to put something into it would wait for ever
            queue.get_nowait()

    async def dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the Pod's loopback, as its own processes would make it. Raises OSError or SandboxError."""
        passage = await Passage.open(self.directory, "socket")
        fd = passage.take("stdout")
        passage.close()
        assert fd is not None
        connection = socket.socket(fileno=fd)
        try:
            connection.setblocking(False)
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        except BaseException:
            connection.close()
            raise
        return await asyncio.open_connection(sock=connection)

    async def exchange(self, pair: Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sending = asyncio.create_task(self.feed(pair, writer))
        try:
            while piece := await reader.read(PIECE):
                await self.send(self.writer.data(pair.data, piece))
            await self.send(self.writer.data(pair.data, b"", last=True))
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def feed(self, pair: Pair, writer: asyncio.StreamWriter) -> None:
        while (piece := await self.inputs[pair.data].get()) is not None:
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


async def forward(request: web.Request, directory: Path, uid: str) -> web.WebSocketResponse:
    web_socket = web.WebSocketResponse(protocols=(PROTOCOL,), heartbeat=PING_EVERY, max_msg_size=0)
    await web_socket.prepare(request)
    await Forwarding(web_socket, directory, uid).serve()
    return web_socket
