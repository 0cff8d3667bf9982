"""Which connections NetworkPolicies allow, and the packet filter's words for it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.kubelet.filter_rules import script
from rayfleet.kubelet.policies import IPBlock, Isolation, Member, NetworkPolicy, Ports, addresses, isolations, joined, permits

NAMESPACES = {"n": {"team": "x"}, "m": {"team": "y"}}
WORLD = IPv4Address("192.0.2.9")


def member(number: int, namespace: str = "n", **labels: str) -> Member:
    ports = (("web", "TCP", 8000 + number), ("web", "UDP", 53))
    return Member(str(number), namespace, labels, IPv4Address(f"10.88.0.{number}"), ports)


A, B, C, FAR = member(2, app="a"), member(3, app="b"), member(4, app="c", role="x"), member(5, "m", app="b")
MEMBERS = (A, B, C, FAR)


def policy(**spec: Any) -> NetworkPolicy:
    spec.setdefault("podSelector", {"matchLabels": {"app": "a"}})
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": spec}, NetworkPolicy)


def judge(*policies: NetworkPolicy) -> Any:
    """(caller, target, protocol, port) -> may it?"""
    addresses = {one.uid: one.address for one in MEMBERS}
    found = {addresses[uid]: rules for uid, rules in isolations(policies, MEMBERS, NAMESPACES).items()}

    def may(caller: Member | IPv4Address, target: Member | IPv4Address, protocol: str = "TCP", port: int = 80) -> bool:
        ends = [one.address if isinstance(one, Member) else one for one in (caller, target)]
        return permits(found, ends[0], ends[1], protocol, port)

    return may


OF_B = {"podSelector": {"matchLabels": {"app": "b"}}}
OF_M = {"namespaceSelector": {"matchLabels": {"team": "y"}}}


@pytest.mark.parametrize(
    ("peers", "let_in"),
    [
        ([], [B, C, FAR, WORLD]),
        ([OF_B], [B]),
        ([{"podSelector": {}}], [B, C]),
        ([OF_M], [FAR]),
        ([{"namespaceSelector": {}}], [B, C, FAR]),
        ([{**OF_B, **OF_M}], [FAR]),
        ([OF_B, OF_M], [B, FAR]),
        ([{"podSelector": {"matchExpressions": [{"key": "role", "operator": "Exists"}]}}], [C]),
        ([{"ipBlock": {"cidr": "192.0.2.0/24"}}], [WORLD]),
        ([{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.8/31"]}}], []),
        ([{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.88.0.3/32"]}}], [C, FAR, WORLD]),
        ([{"ipBlock": {"cidr": "fd00::/8"}}], []),
        ([{"somethingNewer": {}}], []),
        ([{"namespaceSelector": {"matchLabels": {"team": "nobody"}}}], []),
    ],
)
def test_who_is_let_in_and_who_may_be_reached(peers: list[Any], let_in: list[Any]) -> None:
    others = [B, C, FAR, WORLD]
    way_in = judge(policy(ingress=[{"from": peers}]))
    assert [one for one in others if way_in(one, A)] == let_in
    assert all(way_in(A, one) for one in others), "the way out is open"
    assert way_in(A, A) and way_in(B, C)
    way_out = judge(policy(policyTypes=["Egress"], egress=[{"to": peers}]))
    assert [one for one in others if way_out(A, one)] == let_in
    assert all(way_out(one, A) for one in others), "the way in is open"
    assert way_out(A, A) and way_out(B, C)


@pytest.mark.parametrize(
    ("spec", "isolated"),
    [
        ({}, (True, False)),
        ({"ingress": [{}], "egress": []}, (True, False)),
        ({"egress": [{"to": [OF_B]}]}, (True, True)),
        ({"policyTypes": ["Egress"]}, (False, True)),
        ({"policyTypes": ["Ingress"], "egress": [{}]}, (True, False)),
        ({"policyTypes": ["Ingress", "Egress"]}, (True, True)),
    ],
)
def test_in_which_directions_a_policy_isolates(spec: dict[str, Any], isolated: tuple[bool, bool]) -> None:
    (found,) = isolations([policy(**spec)], MEMBERS, NAMESPACES).values()
    assert (found.ingress is not None, found.egress is not None) == isolated


@pytest.mark.parametrize(
    ("port", "reached"),
    [
        ({"port": 80}, {("TCP", 80)}),
        ({}, {("TCP", 80), ("TCP", 443), ("TCP", 8002), ("TCP", 8003)}),
        ({"protocol": "UDP"}, {("UDP", 53), ("UDP", 80)}),
        ({"port": 80, "endPort": 443}, {("TCP", 80), ("TCP", 443)}),
        ({"protocol": "UDP", "port": "web"}, {("UDP", 53)}),
        ({"port": "absent"}, set()),
        ({"protocol": "QUIC"}, set()),
    ],
)
def test_ports(port: dict[str, Any], reached: set[tuple[str, int]]) -> None:
    asked = [("TCP", 80), ("TCP", 443), ("TCP", 8002), ("TCP", 8003), ("UDP", 53), ("UDP", 80), ("SCTP", 80)]
    way_in = judge(policy(ingress=[{"ports": [port]}]))
    assert {one for one in asked if way_in(B, A, *one)} == reached
    way_out = judge(policy(policyTypes=["Egress"], egress=[{"ports": [port]}]))
    assert {one for one in asked if way_out(A, B, *one)} == reached


def test_a_named_port_is_that_of_the_pod_that_is_connected_to() -> None:
    way_in = judge(policy(ingress=[{"ports": [{"port": "web"}]}]))
    assert (way_in(B, A, "TCP", 8002), way_in(B, A, "TCP", 8003)) == (True, False)
    way_out = judge(policy(policyTypes=["Egress"], egress=[{"to": [OF_B], "ports": [{"port": "web"}]}]))
    assert (way_out(A, B, "TCP", 8003), way_out(A, B, "TCP", 8002), way_out(A, C, "TCP", 8004)) == (True, False, False)


def test_both_ends_must_agree() -> None:
    closed = policy(podSelector={"matchLabels": {"app": "b"}})
    out = policy(policyTypes=["Egress"], egress=[{"to": [OF_B]}])
    assert judge(out)(A, B) and not judge(out, closed)(A, B)


def test_policies_add_up_and_those_of_other_namespaces_say_nothing() -> None:
    may = judge(policy(), policy(ingress=[{"from": [OF_B]}]), policy(ingress=[{"ports": [{"port": 443}]}]))
    assert may(B, A, "TCP", 80) and may(C, A, "TCP", 443) and not may(C, A, "TCP", 80)
    assert judge(policy(podSelector={}))(B, FAR)
    assert not judge(policy(podSelector=None))(C, B), "a policy without a selector chooses all of its namespace"


blocks = st.builds(lambda number, length: str(IPv4Network((number << 24, length), strict=False)), st.integers(0, 255), st.integers(0, 12))


@given(blocks, st.lists(blocks, max_size=3), st.integers(0, 2**32 - 1))
def test_a_block_is_its_addresses_but_for_its_exceptions(cidr: str, exceptions: list[str], number: int) -> None:
    address = IPv4Address(number)
    inside = address in IPv4Network(cidr) and not any(address in IPv4Network(one) for one in exceptions)
    assert any(address in one for one in addresses(IPBlock(cidr, tuple(exceptions)))) == inside


ports = st.builds(
    lambda protocol, first, more: Ports(protocol, first, first + more),
    st.sampled_from(("TCP", "UDP")),
    st.integers(1, 30),
    st.integers(0, 5),
)


@given(st.lists(ports))
def test_joined_ports_are_the_same_ports_and_touch_nowhere(given_ports: list[Ports]) -> None:
    def singles(of: Any) -> set[tuple[str, int]]:
        return {(one.protocol, number) for one in of for number in range(one.first, one.last + 1)}

    found = joined(given_ports)
    assert singles(found) == singles(given_ports)
    assert all(one.protocol != after.protocol or one.last + 1 < after.first for one, after in pairwise(found))


def test_the_words_of_the_packet_filter() -> None:
    rules = [{"from": [OF_B, OF_M], "ports": [{"port": 80}, {"port": 90, "endPort": 95}, {"protocol": "UDP"}]}]
    (found,) = isolations([policy(ingress=rules, egress=[{}])], MEMBERS, NAMESPACES).values()
    told = script(found, IPv4Address("10.88.0.1"), IPv4Network("10.96.0.0/16"))
    assert told == WORDS
    assert script(Isolation(), IPv4Address("10.88.0.1"), IPv4Network("10.96.0.0/16")) == "".join(WORDS.splitlines(keepends=True)[:2])


WORDS = """\
table ip rayfleet
delete table ip rayfleet
table ip rayfleet {
  chain input {
    type filter hook input priority filter; policy drop;
    iif lo accept
    ct state established,related accept
    tcp flags & (syn | ack) != syn accept
    ip saddr 10.88.0.1 accept
    ip saddr { 10.88.0.3/32, 10.88.0.5/32 } tcp dport { 80, 90-95 } accept
    ip saddr { 10.88.0.3/32, 10.88.0.5/32 } meta l4proto udp accept
  }
  chain output {
    type filter hook output priority filter; policy drop;
    oif lo accept
    ct state established,related accept
    tcp flags & (syn | ack) != syn accept
    ip daddr { 10.88.0.1, 10.96.0.0/16 } accept
    accept
  }
}
"""
