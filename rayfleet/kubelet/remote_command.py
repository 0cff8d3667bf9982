"""exec and attach: a program's streams as channels of one WebSocket.

Each message is a byte that names the channel, and data. Subprotocols v5.channel.k8s.io and v4.channel.k8s.io (without closing of channels):
https://github.com/kubernetes/enhancements/blob/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets/README.md
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from rayfleet.kubelet.passage import Passage
from rayfleet.kubelet.sandbox import SandboxError

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
PIECE = 32 * 1024
END_OF_TRANSMISSION = b"\x04"  # what a terminal takes for the end of its input
DRAINED_IN = 2.0  # seconds after a command's end in which what it wrote is still read: a child that it left may hold its output open
PING_EVERY = 30.0  # seconds

HangUp = Callable[[], Awaitable[None]]


def outcome(code: int) -> dict[str, Any]:
    """A metav1.Status as kubectl reads it."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    words = f"command terminated with non-zero exit code: exit status {code}"
    return {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": words, "details": {"causes": [cause]}}


def refusal(words: str) -> dict[str, Any]:
    return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": words, "code": 500}


class Conversation:
    """One WebSocket and one program, a command or (by its name) a container; `serve` returns when either has ended.

    `on_hang_up` is called when the caller's input has ended, once or twice.
    """

    def __init__(
        self, socket: web.WebSocketResponse, passage: Passage, *, tty: bool, container: str = "", on_hang_up: HangUp | None = None
    ) -> None:
        self.socket, self.passage, self.tty, self.container, self.on_hang_up = socket, passage, tty, container, on_hang_up
        self.input = passage.take("stdin")
        self.writer: asyncio.StreamWriter | None = None

    @classmethod
    async def hold(cls, request: web.Request, passage: Passage, **about: Any) -> web.WebSocketResponse:
        """Accepts the caller, and serves to the end."""
        try:
            socket = await accept(request)
            await cls(socket, passage, **about).serve()
        finally:
            passage.close()
        return socket

    async def serve(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.close)
            await self.open_input()
            outputs = [asyncio.create_task(self.copy(name, channel)) for name, channel in (("stdout", STDOUT), ("stderr", STDERR))]
            listening = asyncio.create_task(self.listen())
            ending = asyncio.create_task(self.passage.end(self.container))
            stack.push_async_callback(self.cancel, *outputs, listening, ending)
            await asyncio.wait((listening, ending), return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                await asyncio.wait(outputs, timeout=DRAINED_IN)
                await self.conclude(ending)
            elif self.on_hang_up:
                await self.on_hang_up()

    async def conclude(self, ending: asyncio.Task[int]) -> None:
        try:
            status = outcome(ending.result())
        except SandboxError as error:
            status = refusal(str(error))
        with contextlib.suppress(ConnectionError):
            await self.send(STATUS, msgspec.json.encode(status))
            await self.socket.close()

    async def cancel(self, *tasks: asyncio.Task[Any]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def send(self, channel: int, data: bytes) -> None:
        await self.socket.send_bytes(bytes([channel]) + data)

    async def copy(self, name: str, channel: int) -> None:
        fd = self.passage.take(name)
        if fd is None:
            return
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
        )
        try:
            while piece := await reader.read(PIECE):
                await self.send(channel, piece)
        except OSError:  # the caller has gone, or nobody holds the terminal any more
            pass
        finally:
            transport.close()

    async def open_input(self) -> None:
        if self.input is not None:
            pipe = os.fdopen(os.dup(self.input), "wb", buffering=0)  # the other one is for the terminal's size
            transport, protocol = await asyncio.get_running_loop().connect_write_pipe(
                lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
            )
            self.writer = asyncio.StreamWriter(transport, protocol, None, asyncio.get_running_loop())

    async def listen(self) -> None:
        async for message in self.socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel == STDIN and self.writer is not None:
                with contextlib.suppress(OSError):  # it has closed its input; what it says is still wanted
                    self.writer.write(data)
                    await self.writer.drain()
            elif channel == CLOSE and data == bytes([STDIN]):
                await self.hang_up()
            elif channel == RESIZE and self.tty:
                self.resize(data)

    async def hang_up(self) -> None:
        if self.tty and self.writer is not None:
            self.writer.write(END_OF_TRANSMISSION)
        else:
            self.close_input()
        if self.on_hang_up:
            await self.on_hang_up()

    def close_input(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None
        if self.input is not None:
            os.close(self.input)
            self.input = None

    def resize(self, data: bytes) -> None:
        try:
            size = msgspec.json.decode(data)
            dimensions = struct.pack("HHHH", int(size["Height"]), int(size["Width"]), 0, 0)
        except (ValueError, KeyError, TypeError, struct.error):
            return
        if self.input is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.input, termios.TIOCSWINSZ, dimensions)

    def close(self) -> None:
        self.close_input()
        self.passage.close()


def require(request: web.Request, protocols: Sequence[str]) -> None:
    """Raises 400 when the caller speaks none of these, as SPDY-only clients: asked before anything is started for it."""
    offered = {name.strip() for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",")}
    if not offered & set(protocols):
        raise web.HTTPBadRequest(text=f"only WebSocket with {' or '.join(protocols)} is spoken here")


async def accept(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=PROTOCOLS, heartbeat=PING_EVERY, max_msg_size=0)
    await socket.prepare(request)
    return socket


async def refuse(request: web.Request, words: str) -> web.WebSocketResponse:
    """Says why there is no program to converse with, where kubectl looks for it."""
    socket = await accept(request)
    await socket.send_bytes(bytes([STATUS]) + msgspec.json.encode(refusal(words)))
    await socket.close()
    return socket
