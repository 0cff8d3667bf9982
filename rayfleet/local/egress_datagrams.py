"""The way out for UDP, beside that of rayfleet.local.egress: each socket of a Pod has a conversation with each address of the world.

Inside, one socket a port hears what is sent to any address, and whom it was meant for. Each conversation is a stream to the door, which has
a socket of its own for it; datagrams are framed there as DNS does it. What cannot be sent is lost, as datagrams may be.
Source: https://man7.org/linux/man-pages/man7/ip.7.html (IP_PKTINFO)
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from ipaddress import IPv4Address
from typing import Any

from rayfleet.kubelet.datagrams import LARGEST, MOST_CALLERS, SILENT
from rayfleet.kubelet.dns import framed, read_framed

SOCKET = "out-datagrams.sock"
DIAL_IN = 10.0
INFORMATION = getattr(socket, "IP_PKTINFO", 8)
LOCAL = struct.Struct("i4s4s")  # interface, the address of ours that is spoken to or from, the packet's own
CROWDED = 1 << 18  # bytes that a slow reader may leave waiting
Conversation = tuple[tuple[str, int], str]  # who speaks, and to which address


async def send_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The door's part of one conversation: `HOST:PORT` is its first line. It ends when neither side has spoken for a while."""
    try:
        host, _, port = (await asyncio.wait_for(reader.readline(), DIAL_IN)).decode().strip().rpartition(":")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: Answers(writer), remote_addr=(host, int(port)))
    except (OSError, ValueError, OverflowError, TimeoutError):
        writer.close()
        return
    try:
        while True:
            transport.sendto(await asyncio.wait_for(read_framed(reader), SILENT))
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        pass
    finally:
        transport.close()
        writer.close()


class Answers(asyncio.DatagramProtocol):
    """What the world says, back into the fleet."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    def datagram_received(self, data: bytes, addr: Any) -> None:
        write(self.writer, data)


def write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing() and writer.transport.get_write_buffer_size() < CROWDED:
        writer.write(framed(data))


class Mouth:
    """One port, inside. `is_ours(address)`: of the fleet itself, where nobody listens. Raises OSError when the port is taken."""

    def __init__(self, port: int, is_ours: Any) -> None:
        self.port, self.is_ours = port, is_ours
        self.waiting: dict[Conversation, asyncio.Queue[bytes]] = {}  # who spoke last at the end
        self.tasks: set[asyncio.Task[None]] = set()
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.setblocking(False)
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # shared with ClusterIPs, which are more exact and come first
        self.near.setsockopt(socket.IPPROTO_IP, INFORMATION, 1)
        self.near.bind(("0.0.0.0", port))
        asyncio.get_running_loop().add_reader(self.near, self.hear)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self.near)
        self.near.close()
        for task in self.tasks:
            task.cancel()

    def hear(self) -> None:
        try:
            data, notes, _, caller = self.near.recvmsg(LARGEST, socket.CMSG_SPACE(LOCAL.size))
        except OSError:
            return
        meant = next((LOCAL.unpack(note)[2] for level, kind, note in notes if (level, kind) == (socket.IPPROTO_IP, INFORMATION)), None)
        if meant is None or self.is_ours(IPv4Address(meant)):
            return
        who = (caller, str(IPv4Address(meant)))
        if who not in self.waiting:
            if len(self.waiting) >= MOST_CALLERS:
                return
            self.waiting[who] = asyncio.Queue(64)
            task = asyncio.create_task(self.converse(who, self.waiting[who]))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        with contextlib.suppress(asyncio.QueueFull):
            self.waiting[who].put_nowait(data)

    async def converse(self, who: Conversation, waiting: asyncio.Queue[bytes]) -> None:
        """Until the door ends it. The working directory is the state's."""
        writer = None
        try:
            reader, writer = await asyncio.open_unix_connection(SOCKET)
            writer.write(f"{who[1]}:{self.port}\n".encode())
            speaking = asyncio.create_task(self.speak(writer, waiting))
            try:
                while True:
                    self.answer(who, await read_framed(reader))
            finally:
                speaking.cancel()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.waiting.pop(who, None)
            if writer is not None:
                writer.close()

    async def speak(self, writer: asyncio.StreamWriter, waiting: asyncio.Queue[bytes]) -> None:
        while True:
            write(writer, await waiting.get())

    def answer(self, who: Conversation, data: bytes) -> None:
        """From the address that was spoken to, as the caller would otherwise not believe it."""
        sender = LOCAL.pack(0, IPv4Address(who[1]).packed, bytes(4))
        with contextlib.suppress(OSError):
            self.near.sendmsg([data], [(socket.IPPROTO_IP, INFORMATION, sender)], 0, who[0])
