"""What a Pod's shim hands over as descriptors: the streams of a command or of a container, or a socket of the Pod's network.

Each passage is a connection of its own to the shim, so that it ends with whoever wanted it and disturbs nobody.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kubelet.sandbox import ANSWERS_IN, LONGEST_LINE, SandboxError, dial

MOST_DESCRIPTORS = 3
PIECE = 65536


class Passage:
    """`streams`: stdin, stdout and stderr, as far as there are such, to whoever takes them first."""

    def __init__(self, connection: socket.socket, streams: dict[str, int], rest: bytes) -> None:
        self.connection, self.streams, self.rest = connection, streams, rest

    @classmethod
    async def open(cls, directory: Path, op: str, **request: Any) -> Passage:
        """Raises SandboxError when the shim is gone or refuses."""
        connection = dial(directory)
        if connection is None:
            raise SandboxError("the Pod's sandbox is gone")
        try:
            return await asyncio.to_thread(cls.ask, connection, msgspec.json.encode({"id": 1, "op": op, **request}) + b"\n")
        except OSError as error:
            connection.close()
            raise SandboxError(f"the Pod's shim does not answer ({op}): {error}") from None
        except BaseException:
            connection.close()
            raise

    @classmethod
    def ask(cls, connection: socket.socket, line: bytes) -> Passage:
        """Blocks: no event loop can receive descriptors."""
        connection.settimeout(ANSWERS_IN)
        connection.sendall(line)
        rest, descriptors = b"", array.array("i")
        while True:
            piece, notes, _, _ = connection.recvmsg(PIECE, socket.CMSG_SPACE(MOST_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC)
            for level, kind, data in notes:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(data[: len(data) - len(data) % 4])
            if not piece:
                raise SandboxError("the Pod's sandbox is gone")
            *lines, rest = (rest + piece).split(b"\n")
            for number, line in enumerate(lines):
                message = msgspec.json.decode(line)
                if message.get("error"):
                    raise SandboxError(message["error"])
                if "streams" in message:
                    connection.setblocking(False)
                    after = b"".join(later + b"\n" for later in lines[number + 1 :]) + rest
                    return cls(connection, dict(zip(message["streams"], descriptors, strict=True)), after)

    async def end(self, container: str = "") -> int:
        """The exit code of the command, or of the container of that name, once it has ended. Raises SandboxError when nobody saw it end."""
        reader = asyncio.StreamReader(LONGEST_LINE)
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: asyncio.StreamReaderProtocol(reader), self.connection.dup()
        )
        try:
            reader.feed_data(self.rest)
            while line := await reader.readline():
                message = msgspec.json.decode(line)
                if not container and "code" in message:
                    return int(message["code"])
                if container and message.get("ended", {}).get("name") == container:
                    return int(message["ended"]["exit_code"])
        except OSError:
            pass
        finally:
            transport.close()
        raise SandboxError("the Pod's sandbox is gone")

    def take(self, name: str) -> int | None:
        """The descriptor is the caller's from now on."""
        return self.streams.pop(name, None)

    def drop(self, name: str) -> None:
        """Closes a descriptor that nobody wants."""
        fd = self.take(name)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        """Lets go of the shim and of every descriptor that nobody took."""
        for fd in self.streams.values():
            os.close(fd)
        self.streams.clear()
        self.connection.close()
