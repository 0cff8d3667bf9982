"""The nodes that demand can go to, those that are alike to it counted together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rayfleet.autoscaling.amounts import IMPLICIT, UNIT, Resources
from rayfleet.autoscaling.shapes import Names
from rayfleet.autoscaling.values import Group


@dataclass(slots=True, eq=False)
class Node:
    """A node that is there, on its way, or opened by the packing; `count` of them where nothing tells them apart.

    `name`: its Pod's. `missing`: the spec has it, and no Pod is there yet. `used`: some demand went to it.
    """

    group: str
    total: Resources
    free: Resources
    labels: tuple[tuple[str, str], ...] = ()
    gangs: frozenset[str] = frozenset()
    joined: bool = True
    idle_since: float = 0.0
    name: str = ""
    missing: bool = False
    count: int = 1
    used: bool = False


class Kind(NamedTuple):
    """What never changes of a node and matters to the demand. `other`: how many resources nobody asks for, their weights' sum and least."""

    group: str
    later: bool
    total: tuple[int, ...]
    other: tuple[int, float, float]
    gpu: bool
    labels: tuple[tuple[str, str], ...]


class Lot(NamedTuple):
    """Nodes of one kind in one state, which fare alike. `mask`: the resources of what was placed here, as bits.

    `suits`: how well the labels suit the first of what was placed here that asks for labels.
    """

    kind: Kind
    free: tuple[int, ...]
    mask: int = 0
    suits: int = 0
    gangs: frozenset[str] = frozenset()


def weight(total: int, free: int) -> float:
    """How much a resource speaks for a node: Ray's amount times the cube of the share in use."""
    share = (total - min(max(free, 0), total)) / total
    return total / UNIT * share**3


def lot_of(node: Node, names: Names, *, emptied: bool = False) -> Lot:
    """`emptied`: as if nothing ran on the node."""
    now = node.total if emptied else node.free
    total, free = [0] * len(names.numbers), [0] * len(names.numbers)
    for name, number in names.numbers.items():
        if name.startswith(IMPLICIT):
            free[number] = UNIT
    amounts, others = dict(now), []
    for name, amount in node.total:
        if name in names.numbers:
            total[names.numbers[name]] = amount
        elif amount > 0:
            others.append(weight(amount, amounts.get(name, 0)))
    for name, amount in now:
        if name in names.numbers:
            free[names.numbers[name]] = amount
    gpu = any(name == "GPU" and amount > 0 for name, amount in node.total)
    labels = tuple(sorted((key, value) for key, value in node.labels if key in names.keys))
    weights = (len(others), sum(sorted(others)), min(others, default=0.0))
    kind = Kind(node.group, not node.joined, tuple(total), weights, gpu, labels)
    return Lot(kind, tuple(free), gangs=node.gangs & names.gangs)


def fresh(group: Group, count: int = 1) -> Node:
    """Nodes of the group without work, that have not joined."""
    return Node(group.name, group.resources, group.resources, group.labels, joined=False, count=count)


@dataclass(slots=True)
class Stock:
    """All nodes by lot. Of one lot those that became idle last are taken first, so that the longest idle stay free."""

    names: Names
    lots: dict[Lot, list[Node]] = field(default_factory=dict)
    sizes: dict[Lot, int] = field(default_factory=dict)

    def add(self, node: Node, lot: Lot) -> None:
        self.lots.setdefault(lot, []).append(node)
        self.sizes[lot] = self.sizes.get(lot, 0) + node.count

    def take(self, lot: Lot, times: int) -> list[Node]:
        """So many nodes, as few values as hold them."""
        nodes, taken = self.lots[lot], []
        self.sizes[lot] -= times
        while times:
            node = nodes.pop()
            if node.count > times:
                nodes.append(replace(node, count=node.count - times))
                node = replace(node, count=times)
            times -= node.count
            taken.append(node)
        return taken

    def nodes(self) -> list[Node]:
        return [node for lot in self.lots.values() for node in lot]


def stocked(names: Names, nodes: Iterable[Node], *, emptied: bool = False) -> Stock:
    stock = Stock(names)
    for node in sorted(nodes, key=lambda each: (each.idle_since, each.name, each.used)):
        stock.add(node, lot_of(node, names, emptied=emptied))
    return stock
