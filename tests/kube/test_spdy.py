"""Frames of SPDY, as a client makes them."""

from __future__ import annotations

import struct
import zlib

import pytest

from rayfleet.kube.spdy import BadFrame, Frame, Reader, Writer, dictionary

HEADERS = {"streamtype": "data", "port": "8265", "requestid": "0"}


def test_the_dictionary_is_the_one_of_the_protocol() -> None:
    assert (len(dictionary()), zlib.adler32(dictionary())) == (1423, 0xE3C6A7C2)


def test_streams_are_opened_and_data_comes_in_pieces_of_any_size() -> None:
    client, reader = Writer(), Reader()
    data = struct.pack("!II", 3, 1 << 24 | 5) + b"hello"
    told = client.open(1, HEADERS | {"streamtype": "error"}) + client.open(3, HEADERS) + data
    frames = [frame for at in range(len(told)) for frame in reader.feed(told[at : at + 1])]
    assert frames == [Frame(1, 1, headers=HEADERS | {"streamtype": "error"}), Frame(1, 3, headers=HEADERS), Frame(0, 3, True, b"hello")]


def test_settings_and_windows_are_not_heeded() -> None:
    window, settings = struct.pack("!HHIII", 0x8003, 9, 8, 1, 100), struct.pack("!HHII", 0x8003, 4, 4, 0)
    assert list(Reader().feed(window + settings)) == []


@pytest.mark.parametrize(
    "told",
    [
        struct.pack("!HHI", 0x8002, 1, 0),  # another version
        struct.pack("!HHI", 0x8003, 1, 2) + b"ab",  # too short
        struct.pack("!HHI", 0x8003, 1, 14) + bytes(14),  # headers that were never compressed
    ],
)
def test_nonsense_is_refused(told: bytes) -> None:
    with pytest.raises(BadFrame):
        list(Reader().feed(told))


def test_what_is_answered_can_be_read() -> None:
    assert list(Reader().feed(Writer().ping(b"\0\0\0\1"))) == [Frame(6, 1, data=b"\0\0\0\1")]
    assert list(Reader().feed(Writer().data(3, b"x", last=True))) == [Frame(0, 3, True, b"x")]
