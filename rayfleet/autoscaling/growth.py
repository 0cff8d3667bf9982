"""How far the groups grow: what the cluster is to be able to hold, then placement groups, then tasks and actors (Ray's order)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from rayfleet.autoscaling.packing import Limits, Packing, commit, pack
from rayfleet.autoscaling.replicas import WORKING, Holding
from rayfleet.autoscaling.shapes import Batch, Names, batch_of, gang_batch, gangs_in_order, names_of
from rayfleet.autoscaling.stock import Node, Stock, fresh, stocked
from rayfleet.autoscaling.values import Demand, Gang, Instance


class Sort(StrEnum):
    """What kind of demand: `request_resources`, a placement group, or tasks and actors."""

    FLOOR = "floor"
    GANG = "gang"
    TASKS = "tasks"


@dataclass(frozen=True, slots=True)
class Want:
    """Demand of one sort. `gang` is set for GANG alone."""

    sort: Sort
    batch: Batch
    gang: Gang | None = None


@dataclass(slots=True)
class Growth:
    """`opened`: new replicas by group; `reasons`: what they are for. `unmet`: what found no room. `limits`: what is left of them.

    `stock`: all nodes, filled.
    """

    names: Names
    limits: Limits
    stock: Stock
    newest_first: bool = False
    opened: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, list[Want]] = field(default_factory=dict)
    unmet: list[Want] = field(default_factory=list)

    def place(self, want: Want, *, whole: bool) -> None:
        """`whole`: all of it or nothing."""
        packing = pack(self.stock, want.batch, self.limits, newest_first=self.newest_first)
        if whole and not packing.complete:
            self.unmet.append(want)
            return
        commit(self.stock, packing, self.limits.groups)
        for name, count in packing.opened.items():
            self.opened[name] = self.opened.get(name, 0) + count
        self.limits = self.limits.less(packing.opened)
        for name, batch in shares(packing):
            self.reasons.setdefault(name, []).append(replace(want, batch=batch))
        if not packing.complete:
            self.unmet.append(replace(want, batch=counted(want.batch, enumerate(packing.left))))

    @property
    def used(self) -> tuple[set[str], dict[str, int]]:
        """The Pods that some demand went to, and how many nodes of each group whose Pods are not there yet."""
        pods, missing = set(), dict[str, int]()
        for node in self.stock.nodes():
            if node.used and node.name:
                pods.add(node.name)
            elif node.used and node.missing:
                missing[node.group] = missing.get(node.group, 0) + node.count
        return pods, missing

    @property
    def shortfall(self) -> tuple[int, int, int, int]:
        """The smaller, the better: what found no room, the most binding first, and then how many replicas it takes."""
        unmet = {
            sort: sum(sum(want.batch.counts) if sort == Sort.TASKS else 1 for want in self.unmet if want.sort == sort) for sort in Sort
        }
        return unmet[Sort.FLOOR], unmet[Sort.GANG], unmet[Sort.TASKS], sum(self.opened.values())


def grow(demand: Demand, holdings: Mapping[str, Holding], heads: Sequence[Instance], ceiling: int | None) -> Growth:
    """Where something finds no room, equal nodes are tried in the other order too: which of them is filled first is a guess."""
    first = grown(demand, holdings, heads, ceiling)
    if not first.unmet:
        return first
    second = grown(demand, holdings, heads, ceiling, newest_first=True)
    return min(first, second, key=lambda each: each.shortfall)


def grown(
    demand: Demand, holdings: Mapping[str, Holding], heads: Sequence[Instance], ceiling: int | None, *, newest_first: bool = False
) -> Growth:
    names = names_of(demand)
    groups = {name: each.group for name, each in holdings.items() if not each.group.suspended}
    nodes = [*(node_of(head) for head in heads if head.state in WORKING), *present(holdings.values())]
    room = {name: group.max_replicas - holdings[name].base for name, group in groups.items()}
    pods = None if ceiling is None else ceiling - sum(each.base * each.group.hosts for each in holdings.values())
    growth = Growth(names, Limits(groups, room, pods), stocked(names, nodes, emptied=bool(demand.floor)), newest_first)
    if demand.floor:
        growth.place(Want(Sort.FLOOR, batch_of(names, demand.floor)), whole=True)
        growth.stock = stocked(names, growth.stock.nodes())
    for gang in gangs_in_order(demand.gangs):
        growth.place(Want(Sort.GANG, gang_batch(names, gang), gang), whole=True)
    growth.place(Want(Sort.TASKS, batch_of(names, demand.requests)), whole=False)
    return growth


def shares(packing: Packing) -> Iterator[tuple[str, Batch]]:
    """What goes to new nodes, by group."""
    found: dict[str, list[tuple[int, int]]] = {}
    for step in packing.steps:
        if step.new:
            found.setdefault(step.lot.kind.group, []).extend((index, count * step.times) for index, count in step.fill)
    for name in sorted(found):
        yield name, counted(packing.batch, found[name])


def counted(batch: Batch, counts: Iterable[tuple[int, int]]) -> Batch:
    """The batch with other counts, by the number of the shape; without what is none."""
    sums: dict[int, int] = {}
    for index, count in counts:
        sums[index] = sums.get(index, 0) + count
    kept = [index for index in sorted(sums) if sums[index] > 0]
    return Batch(tuple(batch.shapes[index] for index in kept), tuple(sums[index] for index in kept))


def present(holdings: Iterable[Holding]) -> Iterator[Node]:
    """The nodes of replicas that take work, now or when they have joined."""
    for each in holdings:
        if each.group.suspended:
            continue
        for replica in (*each.joined, *each.coming):
            for host in replica.instances:
                yield node_of(host) if host.state in WORKING else replace(fresh(each.group), name=host.pod)
            if absent := max(0, each.group.hosts - len(replica.instances)):
                yield replace(fresh(each.group, absent), name=replica.name)
        if each.missing:
            yield replace(fresh(each.group, each.missing * each.group.hosts), missing=True)


def node_of(each: Instance) -> Node:
    since = each.idle_since if each.idle_since is not None else 0.0
    return Node(each.group, each.total, each.available, each.labels, each.gangs, idle_since=since, name=each.pod)
