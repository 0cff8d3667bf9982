"""Bin packing: which nodes hold a batch of shapes, and which new ones it takes.

The method is that of Ray's own scheduler, so that hosted clusters grow as others do: fill the best node, then the next best, first among
those that are there or on their way, then among new ones. Alike nodes and equal shapes are counted, not looped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rayfleet.autoscaling.candidates import Candidate, Fill, Judge, Queue, most_of, repeats
from rayfleet.autoscaling.shapes import Batch
from rayfleet.autoscaling.stock import Lot, Stock, fresh, lot_of
from rayfleet.autoscaling.values import Group


@dataclass(frozen=True, slots=True)
class Limits:
    """How many replicas each group may still get, and how many Pods the cluster (None: no limit of its own)."""

    groups: Mapping[str, Group]
    room: Mapping[str, int]
    pods: int | None = None

    def allows(self, name: str) -> int:
        room = self.room.get(name, 0)
        return max(0, room if self.pods is None else min(room, self.pods // self.groups[name].hosts))

    def less(self, opened: Mapping[str, int]) -> Limits:
        pods = None if self.pods is None else self.pods - sum(count * self.groups[name].hosts for name, count in opened.items())
        return Limits(self.groups, {name: room - opened.get(name, 0) for name, room in self.room.items()}, pods)


class Step(NamedTuple):
    """`times` nodes of a lot take the fill and become `after`. `new`: hosts of new replicas. `opens`: the first of each."""

    lot: Lot
    fill: Fill
    after: Lot
    times: int
    new: bool = False
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Packing:
    """`left`: how many of each shape found no room. `opened`: new replicas by group."""

    batch: Batch
    steps: tuple[Step, ...]
    left: tuple[int, ...]
    opened: dict[str, int]

    @property
    def complete(self) -> bool:
        return not any(self.left)


def pack(stock: Stock, batch: Batch, limits: Limits, *, newest_first: bool = False) -> Packing:
    """Changes nothing: `commit` does."""
    priorities = {name: group.priority for name, group in limits.groups.items()}
    judge = Judge(batch, priorities, stock.names.numbers.get("GPU", -1), newest_first)
    packer = Packer(judge, list(batch.counts), [])
    packer.place(stock.sizes)
    opened = packer.open({name: lot_of(fresh(group), stock.names) for name, group in sorted(limits.groups.items())}, limits)
    return Packing(batch, tuple(packer.steps), tuple(packer.left), opened)


@dataclass(slots=True)
class Packer:
    """One batch on its way into the nodes: `left` shrinks, `steps` grows."""

    judge: Judge
    left: list[int]
    steps: list[Step]

    def place(self, lots: Mapping[Lot, int], *, new: bool = False) -> None:
        """On nodes that exist (`new`: or are opened just now), each of them once."""
        queue = Queue(self.judge)
        for lot, nodes in lots.items():
            if nodes:
                queue.put(lot, nodes, self.left)
        while best := queue.best():
            times = min(best.nodes, repeats(best.fill, queue.most, self.left))
            self.take(best, times, new=new)
            best.nodes -= times
            queue.refresh(best.fill, self.left)

    def open(self, fresh_lots: Mapping[str, Lot], limits: Limits) -> dict[str, int]:
        """On new nodes, replica by replica; the other hosts of a new replica are filled before the next is opened."""
        opened: dict[str, int] = {}
        while any(self.left):
            now = limits.less(opened)
            rooms = ((lot, now.allows(name)) for name, lot in fresh_lots.items())
            choices = [found for lot, room in rooms if room and (found := self.judge.candidate(lot, room, self.left))]
            if not choices:
                break
            best = min(choices, key=lambda each: each.cost)
            name = best.lot.kind.group
            hosts = limits.groups[name].hosts
            times = 1 if hosts > 1 else min(best.nodes, repeats(best.fill, most_of(choices), self.left))
            self.take(best, times, new=True, opens=True)
            opened[name] = opened.get(name, 0) + times
            if hosts > 1:
                self.place({best.lot: hosts - 1}, new=True)
        return opened

    def take(self, best: Candidate, times: int, *, new: bool = False, opens: bool = False) -> None:
        for index, count in best.fill:
            self.left[index] -= count * times
        self.steps.append(Step(best.lot, best.fill, best.after, times, new, opens))


def commit(stock: Stock, packing: Packing, groups: Mapping[str, Group]) -> None:
    """Fill the nodes, and add those that were opened."""
    for step in packing.steps:
        if step.opens:
            group = groups[step.lot.kind.group]
            stock.add(fresh(group, step.times * group.hosts), step.lot)
        for node in stock.take(step.lot, step.times):
            node.used = True
            stock.add(node, step.after)
