"""Lots of nodes as candidates for what is left of a batch: what one node of each would take, and which is the best."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rayfleet.autoscaling.selectors import preference
from rayfleet.autoscaling.shapes import Batch
from rayfleet.autoscaling.stock import Lot, weight

Fill = tuple[tuple[int, int], ...]  # number of the shape, how many of it


@dataclass(slots=True, eq=False)
class Candidate:
    """`nodes` of a lot, each of which would take `fill` and be `after`. The lowest `cost` goes first."""

    lot: Lot
    nodes: int
    fill: Fill
    after: Lot
    cost: tuple[object, ...]


@dataclass(slots=True)
class Judge:
    """What a node would take of what is left, shape by shape in the batch's order. `gpu`: that resource's number, -1 if nobody asks.

    `newest_first`: of equal nodes those that have not joined come first, not last.
    """

    batch: Batch
    priorities: Mapping[str, int]
    gpu: int
    newest_first: bool = False
    suits: dict[tuple[int, tuple[tuple[str, str], ...]], int] = field(default_factory=dict)

    def candidate(self, lot: Lot, nodes: int, left: Sequence[int]) -> Candidate | None:
        """None: it would take nothing."""
        free, gangs, mask, suits, fill = list(lot.free), lot.gangs, lot.mask, lot.suits, []
        for index, shape in enumerate(self.batch.shapes):
            count = left[index]
            for number, amount in shape.wants:
                if free[number] < amount * count:
                    count = free[number] // amount
            if count <= 0 or shape.apart in gangs:
                continue
            if shape.selectors:
                rank = self.suit(index, lot)
                if not rank:
                    continue
                suits = suits or rank
            if shape.apart:
                count, gangs = 1, gangs | {shape.apart}
            for number, amount in shape.wants:
                free[number] -= amount * count
                mask |= 1 << number
            fill.append((index, count))
        if not fill:
            return None
        after = Lot(lot.kind, tuple(free), mask, suits, gangs)
        return Candidate(lot, nodes, tuple(fill), after, self.cost(lot, after))

    def suit(self, index: int, lot: Lot) -> int:
        key = (index, lot.kind.labels)
        if key not in self.suits:
            self.suits[key] = preference(dict(lot.kind.labels), self.batch.shapes[index].selectors)
        return self.suits[key]

    def cost(self, lot: Lot, after: Lot) -> tuple[object, ...]:
        """Ray's order: the best labels; no GPU for those who ask for none; more kinds of resources in use; fuller; a higher priority of the
        group. Then ours, for what is equal: nodes that have joined, and whatever else tells two lots apart."""
        kind = after.kind
        wasted = kind.gpu and not (self.gpu >= 0 and after.mask >> self.gpu & 1)
        kinds = sum(1 for number, amount in enumerate(kind.total) if amount and after.mask >> number & 1)
        weights = [weight(amount, after.free[number]) for number, amount in enumerate(kind.total) if amount]
        known, total, least = kind.other
        if known:
            weights.append(least)
        average = (sum(weights) - (least if known else 0.0) + total) / (len(weights) - bool(known) + known) if weights else 0.0
        score = (-after.suits, wasted, -kinds, -min(weights, default=0.0), -average, -self.priorities.get(kind.group, 0))
        return (
            *score,
            kind.later != self.newest_first,
            kind.group,
            lot.free,
            kind.total,
            kind.labels,
            kind.other,
            lot.mask,
            lot.suits,
            sorted(lot.gangs),
        )


@dataclass(slots=True)
class Queue:
    """Candidates by cost. A node is judged again only when what it would take has run out. `most`: of each shape, what none exceeds."""

    judge: Judge
    candidates: dict[Lot, Candidate] = field(default_factory=dict)
    heap: list[tuple[tuple[object, ...], int, Candidate]] = field(default_factory=list)
    most: dict[int, int] = field(default_factory=dict)
    put_before: int = 0

    def put(self, lot: Lot, nodes: int, left: Sequence[int]) -> None:
        found = self.judge.candidate(lot, nodes, left)
        if found is None:
            self.candidates.pop(lot, None)
            return
        self.candidates[lot] = found
        self.put_before += 1
        heapq.heappush(self.heap, (found.cost, self.put_before, found))
        for index, count in found.fill:
            self.most[index] = max(self.most.get(index, 0), count)

    def best(self) -> Candidate | None:
        while self.heap:
            found = self.heap[0][2]
            if found.nodes and self.candidates.get(found.lot) is found:
                return found
            heapq.heappop(self.heap)
        return None

    def refresh(self, fill: Fill, left: Sequence[int]) -> None:
        """After `fill` was taken of what was left."""
        if all(left[index] >= self.most[index] for index, _ in fill):
            return
        stale = [each for each in self.candidates.values() if any(left[index] < count for index, count in each.fill)]
        self.most = {}
        for each in stale:
            del self.candidates[each.lot]
        for each in self.candidates.values():
            for index, count in each.fill:
                self.most[index] = max(self.most.get(index, 0), count)
        for each in stale:
            if each.nodes:
                self.put(each.lot, each.nodes, left)


def repeats(fill: Fill, most: Mapping[int, int], left: Sequence[int]) -> int:
    """How often in a row the same choice would be made: as long as what is left cuts no candidate short."""
    return max(1, min((left[index] - most[index]) // count for index, count in fill))


def most_of(candidates: Iterable[Candidate]) -> dict[int, int]:
    most: dict[int, int] = {}
    for each in candidates:
        for index, count in each.fill:
            most[index] = max(most.get(index, 0), count)
    return most
