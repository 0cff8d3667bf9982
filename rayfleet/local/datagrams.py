"""UDP into the fleet and out of it, beside rayfleet.local.relay: each socket that speaks has a conversation with each address it speaks to.

A mouth hears what is sent to a port, and whom it was meant for. Each conversation is a stream through a Unix socket, which crosses network
namespaces, to the other side, where it has a socket of its own; datagrams are framed there as DNS does it. What cannot be sent is lost, as
datagrams may be. Source: https://man7.org/linux/man-pages/man7/ip.7.html (IP_PKTINFO)
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from rayfleet.kubelet.datagrams import LARGEST, MOST_CALLERS, SILENT
from rayfleet.kubelet.dns import framed, read_framed

INWARD, OUTWARD = "datagrams.sock", "out-datagrams.sock"
DIAL_IN = 10.0
INFORMATION = getattr(socket, "IP_PKTINFO", 8)
LOCAL = struct.Struct("i4s4s")  # interface, the address of ours that is spoken to or from, the packet's own
CROWDED = 1 << 18  # bytes that a slow reader may leave waiting
Conversation = tuple[tuple[str, int], str]  # who speaks, and to which address


async def send_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The other side's part of one conversation: `HOST:PORT` is its first line. It ends when neither side has spoken for a while."""
    try:
        async with asyncio.timeout(DIAL_IN):
            line = await reader.readline()
        host, _, port = line.decode().strip().rpartition(":")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: Answers(writer), remote_addr=(host, int(port)))
    except (OSError, ValueError, OverflowError, TimeoutError):
        writer.close()
        return
    try:
        while True:
            async with asyncio.timeout(SILENT):
                data = await read_framed(reader)
            transport.sendto(data)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        pass
    finally:
        transport.close()
        writer.close()


class Answers(asyncio.DatagramProtocol):
    """What is said there, back to who has spoken here."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    def datagram_received(self, data: bytes, addr: Any) -> None:
        write(self.writer, data)


def write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing() and writer.transport.get_write_buffer_size() < CROWDED:
        writer.write(framed(data))


class Mouth:
    """One port; `path` is the other side's socket, and `goal` says where on that side a datagram to an address of this one goes, or None
    where nobody is. The working directory is the state's. Raises OSError when the port is taken."""

    def __init__(self, host: str, port: int, path: str, goal: Callable[[IPv4Address], str | None]) -> None:
        self.path, self.goal = path, goal
        self.waiting: dict[Conversation, asyncio.Queue[bytes]] = {}  # who spoke last at the end
        self.tasks: set[asyncio.Task[None]] = set()
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.setblocking(False)
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # shared with ClusterIPs, which are more exact and come first
        self.near.setsockopt(socket.IPPROTO_IP, INFORMATION, 1)
        self.near.bind((host, port))
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
        goal = self.goal(IPv4Address(meant)) if meant else None
        if meant is None or goal is None:
            return
        who = (caller, str(IPv4Address(meant)))
        if who not in self.waiting:
            if len(self.waiting) >= MOST_CALLERS:
                return
            self.waiting[who] = asyncio.Queue(64)
            task = asyncio.create_task(self.converse(who, goal, self.waiting[who]))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        with contextlib.suppress(asyncio.QueueFull):
            self.waiting[who].put_nowait(data)

    async def converse(self, who: Conversation, goal: str, waiting: asyncio.Queue[bytes]) -> None:
        """Until the other side ends it."""
        writer = None
        try:
            reader, writer = await asyncio.open_unix_connection(self.path)
            writer.write(f"{goal}\n".encode())
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
