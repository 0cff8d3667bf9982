"""Which connections of Pods NetworkPolicies allow. Pure.

https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from typing import Literal, NamedTuple, NotRequired, TypedDict

import msgspec

from rayfleet.api.meta import ObjectMeta
from rayfleet.planning.selection import selects

EVERYWHERE = IPv4Network("0.0.0.0/0")
LAST_PORT = 65_535
PROTOCOLS = ("TCP", "UDP", "SCTP")


class Requirement(TypedDict):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: NotRequired[list[str] | None]


class Selector(TypedDict):
    matchLabels: NotRequired[dict[str, str] | None]
    matchExpressions: NotRequired[list[Requirement] | None]


class PolicyPort(msgspec.Struct, frozen=True, rename="camel"):
    """A port by number, or by the name that it has in the Pod that is connected to."""

    protocol: str | None = None
    port: int | str | None = None
    end_port: int | None = None


class IPBlock(msgspec.Struct, frozen=True):
    cidr: str = ""
    exceptions: tuple[str, ...] | None = msgspec.field(default=None, name="except")


class PolicyPeer(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: Selector | None = None
    namespace_selector: Selector | None = None
    ip_block: IPBlock | None = None


class IngressRule(msgspec.Struct, frozen=True):
    ports: tuple[PolicyPort, ...] | None = None
    peers: tuple[PolicyPeer, ...] | None = msgspec.field(default=None, name="from")


class EgressRule(msgspec.Struct, frozen=True):
    ports: tuple[PolicyPort, ...] | None = None
    peers: tuple[PolicyPeer, ...] | None = msgspec.field(default=None, name="to")


class PolicySpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: Selector | None = None
    ingress: tuple[IngressRule, ...] | None = None
    egress: tuple[EgressRule, ...] | None = None
    policy_types: tuple[str, ...] | None = None

    def isolates(self, direction: str) -> bool:
        """`direction` is Ingress or Egress. Without policyTypes all policies are of ingress, and of egress those that have such rules."""
        return direction in (self.policy_types or ("Ingress", *(["Egress"] if self.egress else [])))


class NetworkPolicy(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: PolicySpec = PolicySpec()


class Member(NamedTuple):
    """What policies know of a Pod that has an address. `ports`: (name, protocol, number) of those that its containers name."""

    uid: str
    namespace: str
    labels: Mapping[str, str]
    address: IPv4Address
    ports: tuple[tuple[str, str, int], ...] = ()


class Ports(NamedTuple):
    """From the first to the last, both included."""

    protocol: str
    first: int
    last: int


class Allowance(NamedTuple):
    """Who is at the other end, and the ports of who is connected to; without any: everything, of every protocol."""

    networks: tuple[IPv4Network, ...]
    ports: tuple[Ports, ...]


class Isolation(NamedTuple):
    """What a Pod may do; None: everything."""

    ingress: tuple[Allowance, ...] | None = None
    egress: tuple[Allowance, ...] | None = None


FREE = Isolation()


def permits(isolations: Mapping[IPv4Address, Isolation], caller: IPv4Address, target: IPv4Address, protocol: str, port: int) -> bool:
    """May the Pod at one address connect to a port of the Pod at the other? `isolations` by their addresses. Itself it always may."""
    leaves = admits(isolations.get(caller, FREE).egress, target, protocol, port)
    return caller == target or (leaves and admits(isolations.get(target, FREE).ingress, caller, protocol, port))


def admits(allowances: Iterable[Allowance] | None, peer: IPv4Address, protocol: str, port: int) -> bool:
    return allowances is None or any(
        any(peer in network for network in one.networks)
        and (not one.ports or any(protocol == ports.protocol and ports.first <= port <= ports.last for ports in one.ports))
        for one in allowances
    )


def isolations(
    policies: Iterable[NetworkPolicy], members: Collection[Member], namespaces: Mapping[str, Mapping[str, str]]
) -> dict[str, Isolation]:
    """By UID, of the Pods that any policy isolates. `namespaces`: the labels of each. Equal rules give equal values."""
    ingress: dict[str, set[Allowance]] = {}
    egress: dict[str, set[Allowance]] = {}
    for policy in policies:
        spec, namespace = policy.spec, policy.metadata.namespace
        chosen = [one for one in members if one.namespace == namespace and selects(spec.pod_selector or {}, one.labels)]
        if spec.isolates("Ingress"):
            rules = [(found_peers(rule.peers, namespace, members, namespaces), rule.ports) for rule in spec.ingress or ()]
            for one in chosen:
                ingress.setdefault(one.uid, set()).update(allowance for peers, ports in rules for allowance in inward(peers, ports, one))
        if spec.isolates("Egress"):
            found = {
                each for rule in spec.egress or () for each in outward(found_peers(rule.peers, namespace, members, namespaces), rule.ports)
            }
            for one in chosen:
                egress.setdefault(one.uid, set()).update(found)
    return {uid: Isolation(in_order(ingress.get(uid)), in_order(egress.get(uid))) for uid in ingress.keys() | egress.keys()}


def in_order(allowances: set[Allowance] | None) -> tuple[Allowance, ...] | None:
    return None if allowances is None else tuple(sorted(allowances))


class Peers(NamedTuple):
    """Who a rule means: Pods, and addresses. A rule that names nobody means everybody."""

    pods: tuple[Member, ...]
    blocks: tuple[IPv4Network, ...]

    @property
    def networks(self) -> tuple[IPv4Network, ...]:
        return tuple(collapse_addresses((*self.blocks, *(IPv4Network(pod.address) for pod in self.pods))))


def found_peers(
    peers: Iterable[PolicyPeer] | None, namespace: str, members: Collection[Member], namespaces: Mapping[str, Mapping[str, str]]
) -> Peers:
    """`namespace` is the policy's own."""
    if not peers:
        return Peers(tuple(members), (EVERYWHERE,))
    named = list(peers)
    pods = tuple(one for one in members if any(means(peer, one, namespace, namespaces) for peer in named))
    return Peers(pods, tuple(network for peer in named if peer.ip_block for network in addresses(peer.ip_block)))


def means(peer: PolicyPeer, member: Member, namespace: str, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    """Is the Pod one of those that the selectors choose? A peer without any chooses none."""
    if peer.namespace_selector is None:
        return peer.pod_selector is not None and member.namespace == namespace and selects(peer.pod_selector, member.labels)
    there = selects(peer.namespace_selector, namespaces.get(member.namespace, {}))
    return there and (peer.pod_selector is None or selects(peer.pod_selector, member.labels))


def addresses(block: IPBlock) -> list[IPv4Network]:
    """The block without its exceptions. One of IPv6, or of no address at all, has nothing to do with Pods here."""
    left = [whole] if (whole := network(block.cidr)) else []
    for text in block.exceptions or ():
        if (hole := network(text)) is not None:
            left = [rest for one in left for rest in without(one, hole)]
    return left


def network(text: str) -> IPv4Network | None:
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def without(whole: IPv4Network, hole: IPv4Network) -> Iterator[IPv4Network]:
    if whole.subnet_of(hole):
        return
    if hole.subnet_of(whole):
        yield from whole.address_exclude(hole)
    else:
        yield whole


def inward(peers: Peers, ports: Iterable[PolicyPort] | None, own: Member) -> Iterator[Allowance]:
    """Names are those of the Pod's own ports."""
    if not peers.networks:
        return
    if not ports:
        yield Allowance(peers.networks, ())
    elif found := joined(one for port in ports for one in numbers(port, own)):
        yield Allowance(peers.networks, found)


def outward(peers: Peers, ports: Iterable[PolicyPort] | None) -> Iterator[Allowance]:
    """Names are those of the other Pod's ports: it depends on it which numbers they are."""
    if not peers.networks:
        return
    if not ports:
        yield Allowance(peers.networks, ())
        return
    named = [port for port in ports if isinstance(port.port, str)]
    if found := joined(one for port in ports if port not in named for one in numbers(port)):
        yield Allowance(peers.networks, found)
    for pod in peers.pods if named else ():
        if found := joined(one for port in named for one in numbers(port, pod)):
            yield Allowance((IPv4Network(pod.address),), found)


def numbers(port: PolicyPort, owner: Member | None = None) -> Iterator[Ports]:
    """Several where containers of the owner use one name."""
    protocol = port.protocol or "TCP"
    if protocol not in PROTOCOLS:
        return
    if port.port is None:
        yield Ports(protocol, 0, LAST_PORT)
    elif isinstance(port.port, int):
        yield Ports(protocol, port.port, max(port.port, port.end_port or 0))
    elif owner:
        yield from (Ports(protocol, number, number) for name, its, number in owner.ports if (name, its) == (port.port, protocol))


def joined(ports: Iterable[Ports]) -> tuple[Ports, ...]:
    """In order, and none that overlap: a packet filter's sets may not."""
    found: list[Ports] = []
    for one in sorted(ports):
        if found and found[-1].protocol == one.protocol and one.first <= found[-1].last + 1:
            found[-1] = found[-1]._replace(last=max(found[-1].last, one.last))
        else:
            found.append(one)
    return tuple(found)
