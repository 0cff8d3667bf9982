"""Bytes that are no request, or could be read as two: none is served, and nobody waits."""

from __future__ import annotations

import json
import re

import pytest

from tests.apiserver.manifests import CONFIGMAPS, configmap
from tests.apiserver.place import ADMIN, place

HEAD = f"Host: x\r\nAuthorization: Bearer {ADMIN}\r\n".encode()
CHUNKED = f"POST {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"Transfer-Encoding: chunked\r\n"
SIZED = f"POST {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD


@pytest.mark.parametrize(
    "text",
    [
        CHUNKED + b"Content-Length: 4\r\n\r\n0\r\n\r\n",
        CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        CHUNKED.replace(b"chunked", b"xchunked") + b"\r\n0\r\n\r\n",
        CHUNKED.replace(b"Encoding:", b"Encoding :") + b"\r\n0\r\n\r\n",
        CHUNKED + b"\r\n-5\r\nabcde\r\n0\r\n\r\n",
        CHUNKED + b"\r\n0\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        CHUNKED + b"\r\n0\r\n" + b"X: a\r\n" * 10_000 + b"\r\n",
        SIZED + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        *(SIZED + b"Content-Length: " + length + b"\r\n\r\nabcde" for length in (b"-5", b"+5", b"0x5", b"9" * 30)),
        f"GET {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"X: a\r\n b\r\n\r\n",
        f"GET {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"X: a\0b\r\n\r\n",
        f"GET {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"Host: y\r\n\r\n",
        f"GET {CONFIGMAPS} HTTP/9.9\r\n".encode() + HEAD + b"\r\n",
        f"GET {CONFIGMAPS} HTTP/1.1\n".encode() + HEAD.replace(b"\r", b"") + b"\n",
        f"FOO {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        bytes(range(256)),
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
    ],
)
async def test_what_two_could_read_differently_is_refused_and_ends_the_connection(text: bytes) -> None:
    async with place() as there:
        reader, writer = await there.opened(text)
        assert (await reader.read()).startswith(b"HTTP/1.0 400 ")
        writer.close()
        assert (await there.peer.get(CONFIGMAPS)).body["items"] == []


async def test_requests_in_a_row_are_answered_in_their_order() -> None:
    async with place() as there:
        names = [f"n{n}" for n in range(100)]
        asked = [f"GET {CONFIGMAPS}/{name} HTTP/1.1\r\n".encode() + HEAD + b"\r\n" for name in names]
        last = f"GET {CONFIGMAPS}/last HTTP/1.1\r\nConnection: close\r\n".encode() + HEAD + b"\r\n"
        reader, writer = await there.opened(b"".join((*asked, last)))
        answers = (await reader.read()).decode()
        assert re.findall(r'configmaps \\"(\w+)\\" not found', answers) == [*names, "last"]
        writer.close()


async def test_a_client_of_http_1_0_may_watch() -> None:
    async with place() as there:
        await there.peer.create(CONFIGMAPS, configmap("a"))
        reader, writer = await there.opened(f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.0\r\n".encode() + HEAD + b"\r\n")
        head, _, events = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 200 ")
        assert [event["object"]["metadata"]["name"] for event in map(json.loads, events.splitlines())] == ["a"]
        writer.close()


async def test_connections_without_a_request_keep_nobody() -> None:
    async with place() as there:
        silent = [await there.opened(b"") for _ in range(500)]
        await there.serves()
        for _, writer in silent:
            writer.close()
