"""What a Pod may do, as a script for `nft -f`, to be read inside the Pod's own network namespace. Pure.

https://wiki.nftables.org/wiki-nftables/index.php/Quick_reference-nftables_in_10_minutes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network

from rayfleet.kubelet.policies import EVERYWHERE, LAST_PORT, Allowance, Isolation, Ports

TABLE = "table ip rayfleet"
# The first packet of a TCP connection alone is judged, so that one that was there before any rule goes on; of UDP, what nobody here began.
GOING_ON = ("ct state established,related accept", "tcp flags & (syn | ack) != syn accept")


def script(isolation: Isolation, node: IPv4Address, services: IPv4Network) -> str:
    """One transaction: it replaces all rules that were there. The node is always let in, and reached; what a Pod asks of a Service the
    relay of Services judges, by the Pod that it would connect to."""
    lines = [TABLE, f"delete {TABLE}"]  # only what is there can be deleted
    if isolation.ingress is not None or isolation.egress is not None:
        lines += [f"{TABLE} {{", *chains(isolation, node, services), "}"]
    return "\n".join(lines) + "\n"


def chains(isolation: Isolation, node: IPv4Address, services: IPv4Network) -> Iterator[str]:
    if isolation.ingress is not None:
        yield from chain("input", ("iif lo accept", *GOING_ON, f"ip saddr {node} accept"), "saddr", isolation.ingress)
    if isolation.egress is not None:
        yield from chain("output", ("oif lo accept", *GOING_ON, f"ip daddr {{ {node}, {services} }} accept"), "daddr", isolation.egress)


def chain(hook: str, always: Iterable[str], end: str, allowances: Iterable[Allowance]) -> Iterator[str]:
    yield f"  chain {hook} {{"
    yield f"    type filter hook {hook} priority filter; policy drop;"
    for line in (*always, *(line for one in allowances for line in lines_of(one, end))):
        yield f"    {line}"
    yield "  }"


def lines_of(allowance: Allowance, end: str) -> Iterator[str]:
    """A line for each protocol."""
    who = "" if allowance.networks == (EVERYWHERE,) else f"ip {end} {{ {', '.join(map(str, allowance.networks))} }} "
    if not allowance.ports:
        yield f"{who}accept"
    for protocol in dict.fromkeys(one.protocol for one in allowance.ports):
        yield f"{who}{matched([one for one in allowance.ports if one.protocol == protocol])} accept"


def matched(ports: list[Ports]) -> str:
    """Ports of one protocol."""
    protocol = ports[0].protocol.lower()
    if (ports[0].first, ports[0].last) == (0, LAST_PORT):
        return f"meta l4proto {protocol}"
    return f"{protocol} dport {{ {', '.join(f'{one.first}-{one.last}' if one.last > one.first else str(one.first) for one in ports)} }}"
