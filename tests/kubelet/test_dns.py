"""DNS messages, as bytes."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from rayfleet.kubelet import dns
from rayfleet.kubelet.resolver import MISSING, OUTSIDE, Found
from rayfleet.kubelet.settings import KubeletSettings

AAAA = 28


class OneName:
    """`one` has as many addresses as it says; `alias` is another's name; nothing else is there."""

    def __init__(self, addresses: int = 1) -> None:
        self.addresses = addresses

    def find(self, name: str) -> Found:
        found = {
            "one": Found(addresses=tuple(f"10.88.1.{number}" for number in range(self.addresses))),
            "ports": Found(ports=((8000, "h.one"), (8001, "i.one"))),
            "9.0.96.10.in-addr.arpa": Found(pointer="one"),
            "alias": Found(alias="example.com"),
            "out.example": OUTSIDE,
        }
        return found.get(name.lower(), MISSING)


def server(addresses: int = 1) -> dns.DnsServer:
    return dns.DnsServer(KubeletSettings(Path("k"), Path("s"), Path("e")), OneName(addresses))


def query(name: str, kind: int = dns.A) -> bytes:
    return struct.pack("!HHHHHH", 7, dns.RECURSION_WANTED, 1, 0, 0, 0) + dns.encode_name(name) + struct.pack("!HH", kind, 1)


def facts(answer: bytes | None) -> tuple[int, int, bool]:
    """(response code, answers, cut off)."""
    assert answer
    number, flags, questions, answers = struct.unpack_from("!HHHH", answer)
    assert (number, questions) == (7, 1)
    assert flags & dns.ANSWER
    return flags & 15, answers, bool(flags & dns.TRUNCATED)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("one", dns.A, (dns.NOERROR, 1, False)),
        ("ONE", dns.A, (dns.NOERROR, 1, False)),
        ("one", AAAA, (dns.NOERROR, 0, False)),
        ("one", dns.SRV, (dns.NOERROR, 0, False)),
        ("ports", dns.SRV, (dns.NOERROR, 2, False)),
        ("9.0.96.10.in-addr.arpa", dns.PTR, (dns.NOERROR, 1, False)),
        ("alias", dns.A, (dns.NOERROR, 1, False)),
        ("two", dns.A, (dns.NXDOMAIN, 0, False)),
        ("two", AAAA, (dns.NXDOMAIN, 0, False)),
        ("out.example", dns.A, (dns.REFUSED, 0, False)),
    ],
)
def test_answers(name: str, kind: int, expected: tuple[int, int, bool]) -> None:
    assert facts(server().answer(query(name, kind), dns.LARGEST_DATAGRAM)) == expected


def test_an_address_is_given_as_it_is() -> None:
    answer = server().answer(query("one"), dns.LARGEST_DATAGRAM)
    assert answer
    assert answer.endswith(b"\x00\x04\x0a\x58\x01\x00")


def test_a_port_is_given_with_the_name_of_who_has_it() -> None:
    answer = server().answer(query("ports", dns.SRV), dns.LARGEST_DATAGRAM)
    assert answer
    assert b"\x00\x00\x00\x01\x1f\x40\x01h\x03one\x00" in answer


def test_what_does_not_fit_a_datagram_is_asked_again_by_tcp() -> None:
    many = server(100)
    assert facts(many.answer(query("one"), dns.LARGEST_DATAGRAM)) == (dns.NOERROR, 0, True)
    assert facts(many.answer(query("one"), 0xFFFF)) == (dns.NOERROR, 100, False)


def test_nonsense_is_never_more_than_ignored() -> None:
    dice = random.Random(5)
    for _ in range(2000):
        good = bytearray(query("one"))
        for _ in range(dice.randrange(1, 6)):
            good[dice.randrange(len(good))] = dice.randrange(256)
        answer = server().answer(bytes(good[: dice.randrange(len(good) + 1)]), dns.LARGEST_DATAGRAM)
        assert answer is not None
