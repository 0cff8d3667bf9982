"""A DNS server for the names of the cluster domain: A, CNAME, SRV and PTR, at once an empty answer for every other type (gRPC asks for AAAA
and waits for the answer). Names outside go to the host's resolver, or get a fast no. UDP and TCP. https://www.rfc-editor.org/rfc/rfc1035
"""

from __future__ import annotations

import asyncio
import ipaddress
import struct
from typing import Any, Protocol

from rayfleet.kubelet.resolver import Found
from rayfleet.kubelet.settings import KubeletSettings

PORT = 53
A, CNAME, PTR, SRV, INTERNET = 1, 5, 12, 33, 1
NOERROR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 2, 3, 4, 5
ANSWER, AUTHORITATIVE, TRUNCATED, RECURSION_WANTED, RECURSION_OFFERED = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080
OPCODE = 0x7800
LIFETIME = 5  # seconds that an answer may be kept: Pods move
LARGEST_DATAGRAM = 512
QUESTION_NAME = 0xC00C  # a pointer to the name in the question, which always begins at byte 12
MOST_ASKED = 256  # questions that wait for the host's resolver: more would cost the kubelet its open files when that hangs
UPSTREAM_TIMEOUT = 8.0  # seconds; the host's side gives up before that


class BadQuery(ValueError):
    """Not a question that can be answered at all."""


def read_question(query: bytes) -> tuple[str, int, int]:
    """(name, type, end of the question). Raises BadQuery."""
    labels: list[str] = []
    at = 12
    try:
        while length := query[at]:
            if length > 63:
                raise BadQuery("a compressed name in a question")
            labels.append(query[at + 1 : at + 1 + length].decode("ascii", errors="replace"))
            at += 1 + length
        kind, _ = struct.unpack_from("!HH", query, at + 1)
    except (IndexError, struct.error) as error:
        raise BadQuery("cut off") from error
    return ".".join(labels), kind, at + 5


def encode_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split(".")) + b"\0"


def record(kind: int, data: bytes) -> bytes:
    return struct.pack("!HHHIH", QUESTION_NAME, kind, INTERNET, LIFETIME, len(data)) + data


def reply(query: bytes, end: int, code: int, records: list[bytes], largest: int) -> bytes:
    """The answer to a query whose question ends at `end`; cut to nothing but a mark when it would be too large."""
    number, flags = struct.unpack_from("!HH", query)
    flags = ANSWER | AUTHORITATIVE | RECURSION_OFFERED | (flags & (OPCODE | RECURSION_WANTED)) | code
    question = query[12:end]
    body = b"".join(records)
    if 12 + len(question) + len(body) > largest:
        flags, records, body = flags | TRUNCATED, [], b""
    return struct.pack("!HHHHHH", number, flags, 1 if question else 0, len(records), 0, 0) + question + body


def truncated(query: bytes, end: int) -> bytes:
    """Nothing but the mark that makes the asker come again by TCP."""
    return reply(query, end, NOERROR, [bytes(0xFFFF)], LARGEST_DATAGRAM)


def framed(message: bytes) -> bytes:
    """As TCP carries it."""
    return len(message).to_bytes(2, "big") + message


async def read_framed(reader: asyncio.StreamReader) -> bytes:
    """Raises IncompleteReadError."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))


def judge(found: Found, kind: int) -> tuple[int, list[bytes]]:
    """(response code, records)."""
    if found.outside:
        return REFUSED, []
    if not found.exists:
        return NXDOMAIN, []
    if found.alias:
        return NOERROR, [record(CNAME, encode_name(found.alias))]
    if kind == SRV:
        return NOERROR, [record(SRV, struct.pack("!HHH", 0, 1, port) + encode_name(host)) for port, host in found.ports]
    if kind == PTR:
        return NOERROR, [record(PTR, encode_name(found.pointer))] if found.pointer else []
    return NOERROR, [record(A, ipaddress.IPv4Address(address).packed) for address in found.addresses] if kind == A else []


class Names(Protocol):
    """What knows the names; see resolver."""

    def find(self, name: str) -> Found: ...


class DnsServer:
    def __init__(self, settings: KubeletSettings, resolver: Names) -> None:
        self.settings, self.resolver = settings, resolver
        self.transport: asyncio.DatagramTransport | None = None
        self.server: asyncio.Server | None = None
        self.forwarding: set[asyncio.Task[None]] = set()
        self.asked = 0

    async def start(self) -> None:
        """Raises OSError when the port is taken."""
        loop = asyncio.get_running_loop()
        where = (self.settings.address, PORT)
        self.transport, _ = await loop.create_datagram_endpoint(lambda: Datagrams(self), local_addr=where)
        self.server = await asyncio.start_server(self.converse, *where)

    async def close(self) -> None:
        if self.transport:
            self.transport.close()
        if self.server:
            self.server.close()

    def answer(self, query: bytes, largest: int) -> bytes | None:
        """The reply, b"" when there can be none, None when the upstream must be asked."""
        if len(query) < 12 or query[2] & 0x80:
            return b""
        flags, questions = struct.unpack_from("!HH", query, 2)
        if flags & OPCODE or questions != 1:
            return reply(query, 12, NOTIMP, [], largest)
        try:
            name, kind, end = read_question(query)
        except BadQuery:
            return b""
        found = self.resolver.find(name)
        if found.outside and self.settings.upstream_dns and self.settings.upstream_dns.exists():
            return None
        code, records = judge(found, kind)
        return reply(query, end, code, records, largest)

    async def ask_upstream(self, query: bytes, largest: int) -> bytes:
        """What the host's resolver says."""
        end = read_question(query)[2]
        if self.asked >= MOST_ASKED:
            return reply(query, end, SERVFAIL, [], largest)
        self.asked += 1
        try:
            async with asyncio.timeout(UPSTREAM_TIMEOUT):
                reader, writer = await asyncio.open_unix_connection(self.settings.upstream_dns)
                try:
                    writer.write(framed(query))
                    answer = await read_framed(reader)
                finally:
                    writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return reply(query, end, SERVFAIL, [], largest)
        finally:
            self.asked -= 1
        return answer if len(answer) <= largest else truncated(query, end)

    def forward(self, query: bytes, address: Any) -> None:
        async def carry() -> None:
            answer = await self.ask_upstream(query, LARGEST_DATAGRAM)
            if self.transport:
                self.transport.sendto(answer, address)

        task = asyncio.create_task(carry())
        self.forwarding.add(task)
        task.add_done_callback(self.forwarding.discard)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                query = await read_framed(reader)
                answer = self.answer(query, 0xFFFF)
                if answer is None:
                    answer = await self.ask_upstream(query, 0xFFFF)
                if not answer:
                    break
                writer.write(framed(answer))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self.server = server

    def datagram_received(self, data: bytes, addr: Any) -> None:
        answer = self.server.answer(data, LARGEST_DATAGRAM)
        if answer is None:
            self.server.forward(data, addr)
        elif answer and self.server.transport:
            self.server.transport.sendto(answer, addr)
