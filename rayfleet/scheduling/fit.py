"""Why a Pod cannot be on a node, in the order and the words of kube-scheduler's filters; the first filter that says no ends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rayfleet.scheduling.amounts import NATIVE, Amounts
from rayfleet.scheduling.selection import selected
from rayfleet.scheduling.taints import Taint, untolerated

UNSCHEDULABLE: Taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
Port = tuple[str, str, int]  # protocol, address ("" is every one), number


@dataclass(frozen=True, slots=True)
class Site:
    """A node as it is. `pretends`: devices that it does not name count as there, as many as anybody likes."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    has: Amounts
    free: Amounts
    ports: frozenset[Port] = frozenset()
    pods: int = 0
    pretends: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """`reasons` as a person reads them; `hopeless`: not even an empty node would do."""

    reasons: tuple[str, ...]
    hopeless: bool


def misfit(spec: Mapping[str, Any], wants: Amounts, site: Site) -> Misfit | None:
    """None: it fits. `wants` is what `requested` says of the spec."""
    if site.unschedulable and untolerated(spec, (UNSCHEDULABLE,)):
        return Misfit(("node(s) were unschedulable",), True)
    if untolerated(spec, site.taints):
        return Misfit(("node(s) had untolerated taint(s)",), True)
    if not selected(spec, site.name, site.labels):
        return Misfit(("node(s) didn't match Pod's node affinity/selector",), True)
    if any(clash(one, other) for one in ports_of(spec) for other in site.ports):
        return Misfit(("node(s) didn't have free ports for the requested pod ports",), False)
    short = tuple(shortages(wants, site))
    if short:
        return Misfit(tuple(reason for reason, _ in short), any(hopeless for _, hopeless in short))
    return None


def shortages(wants: Amounts, site: Site) -> Iterator[tuple[str, bool]]:
    """(reason, whether the whole node has less than that)."""
    if site.free.get("pods", Fraction(0)) < 1:
        yield "Too many pods", False
    for name, amount in wants.items():
        if name == "pods" or not amount or (site.pretends and name not in NATIVE and name not in site.has):
            continue
        if amount > site.free.get(name, Fraction(0)):
            yield f"Insufficient {name}", amount > site.has.get(name, Fraction(0))


def ports_of(spec: Mapping[str, Any]) -> frozenset[Port]:
    """The host's ports that a Pod takes."""
    everyone = [*(spec.get("containers") or ()), *(one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always")]
    ports = (port for container in everyone for port in container.get("ports") or () if port.get("hostPort"))
    return frozenset((port.get("protocol") or "TCP", address(port.get("hostIP")), port["hostPort"]) for port in ports)


def address(text: str | None) -> str:
    return "" if text in (None, "0.0.0.0") else str(text)


def clash(one: Port, other: Port) -> bool:
    return one[0] == other[0] and one[2] == other[2] and (one[1] == other[1] or "" in (one[1], other[1]))
