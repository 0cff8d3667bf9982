"""Frames of SPDY/3, as far as port-forward needs them: streams that a client opens, data both ways, pings.

https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3/ (flow control is not used by Kubernetes' clients, and not spoken here).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 0x01
CONTROL = 0x8000
VERSION = 3
LONGEST = 1 << 24  # bytes of a frame; its length has 24 bits
MOST_HEADER_BYTES = 1 << 16
HEAD = struct.Struct("!II")

# What both ends' compression of headers starts from: section 2.6.10.1 of the draft. Words with their lengths, then a text.
WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length content-location "
    "content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer "
    "retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK "
    "version HTTP/1.1 url public set-cookie keep-alive origin "
)
TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information2"
    "04 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not "
    "Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Su"
    "n, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publi"
    "cprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def dictionary() -> bytes:
    words = [word.replace("_", " ").encode() for word in WORDS.split()]
    return b"".join(struct.pack("!I", len(word)) + word for word in words) + TEXT.encode()


class BadFrame(Exception):
    """The peer sent what is no SPDY/3."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`kind` is one of the constants above, 0 for data. `last`: the sender has no more to say on that stream."""

    kind: int
    stream: int
    last: bool = False
    data: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Reader:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.headers = zlib.decompressobj(zdict=dictionary())

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Raises BadFrame."""
        self.buffer += piece
        while len(self.buffer) >= HEAD.size:
            first, second = HEAD.unpack_from(self.buffer)
            length = second & (LONGEST - 1)
            if len(self.buffer) < HEAD.size + length:
                return
            body = bytes(self.buffer[HEAD.size : HEAD.size + length])
            del self.buffer[: HEAD.size + length]
            frame = self.frame(first, second >> 24, body)
            if frame is not None:
                yield frame

    def frame(self, first: int, flags: int, body: bytes) -> Frame | None:
        """None for what need not be heeded (settings, windows)."""
        last = bool(flags & FIN)
        if not first >> 31:
            return Frame(0, first, last, body)
        kind = first & 0xFFFF
        if (first >> 16) & 0x7FFF != VERSION:
            raise BadFrame(f"version {(first >> 16) & 0x7FFF} of SPDY")
        try:
            if kind == SYN_STREAM:
                return Frame(kind, struct.unpack_from("!I", body)[0], last, headers=self.header_block(body[10:]))
            if kind in (RST_STREAM, PING, GOAWAY):
                return Frame(kind, struct.unpack_from("!I", body)[0], data=body)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise BadFrame(str(error)) from error
        return None

    def header_block(self, compressed: bytes) -> dict[str, str]:
        plain = self.headers.decompress(compressed, MOST_HEADER_BYTES)
        (count,), at = struct.unpack_from("!I", plain), 4
        texts: list[str] = []
        for _ in range(2 * count):
            (length,) = struct.unpack_from("!I", plain, at)
            texts.append(plain[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return dict(zip(texts[::2], texts[1::2], strict=True))


class Writer:
    """Makes the bytes of frames; the compression of headers goes on from one to the next."""

    def __init__(self) -> None:
        self.headers = zlib.compressobj(zdict=dictionary())

    def control(self, kind: int, body: bytes) -> bytes:
        return HEAD.pack((CONTROL | VERSION) << 16 | kind, len(body)) + body

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """A client's wish for a stream; its number is odd, and higher than those before."""
        return self.control(SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + self.header_block(headers))

    def reply(self, stream: int) -> bytes:
        """That the stream is accepted; without headers."""
        return self.control(SYN_REPLY, struct.pack("!I", stream) + self.header_block({}))

    def header_block(self, headers: Mapping[str, str]) -> bytes:
        texts = [text.encode() for pair in headers.items() for text in pair]
        plain = struct.pack("!I", len(headers)) + b"".join(struct.pack("!I", len(text)) + text for text in texts)
        return self.headers.compress(plain) + self.headers.flush(zlib.Z_SYNC_FLUSH)

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        return HEAD.pack(stream, (FIN if last else 0) << 24 | len(data)) + data

    def ping(self, number: bytes) -> bytes:
        return self.control(PING, number)
