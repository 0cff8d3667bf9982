"""Demand as the packing takes it: shapes with counts, the hardest to place first, their resources numbered.

Source of the order: Ray's ResourceDemandScheduler (constraints, label terms, number of resources, sum of the amounts, the amounts by name).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rayfleet.autoscaling.amounts import Resources, total
from rayfleet.autoscaling.selectors import together
from rayfleet.autoscaling.values import Demand, Gang, Request, Selector, Strategy

MOST_SHAPES = 1000  # that are told apart: of tasks and actors, of a placement group, of `request_resources`


@dataclass(frozen=True, slots=True)
class Shape:
    """A request with the numbers of its resources. `apart`: the placement group of which a node may hold one bundle only; "" for none."""

    request: Request
    wants: tuple[tuple[int, int], ...]
    apart: str = ""

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return self.request.selectors


@dataclass(frozen=True, slots=True)
class Names:
    """What the demand speaks of: the rest of a node does not tell it from another. `numbers`: of each resource."""

    numbers: dict[str, int]
    keys: frozenset[str]
    gangs: frozenset[str]

    def shape(self, request: Request, apart: str = "") -> Shape:
        wants = tuple((self.numbers[name], amount) for name, amount in request.resources if amount > 0)
        return Shape(replace(request, count=1), wants, apart)


def names_of(demand: Demand) -> Names:
    requests = list(every_request(demand))
    named = sorted({name for request in requests for name, _ in request.resources})
    keys = frozenset(term.key for request in requests for selector in request.selectors for term in selector)
    gangs = frozenset(apart(gang) for gang in demand.gangs) - {""}
    return Names({name: index for index, name in enumerate(named)}, keys, gangs)


def every_request(demand: Demand) -> Iterator[Request]:
    yield from demand.requests
    yield from demand.floor
    for gang in demand.gangs:
        yield from gang.bundles


@dataclass(frozen=True, slots=True)
class Batch:
    """Shapes that are placed in one go, with how many there are of each."""

    shapes: tuple[Shape, ...]
    counts: tuple[int, ...]


def batch_of(names: Names, requests: Iterable[Request], apart: str = "") -> Batch:
    """Equal shapes are counted together; a count below one is nothing."""
    counts: dict[Shape, int] = {}
    for request in requests:
        if request.count > 0:
            shape = names.shape(request, apart)
            counts[shape] = counts.get(shape, 0) + request.count
    ordered = sorted(counts, key=difficulty, reverse=True)
    return Batch(tuple(ordered), tuple(counts[shape] for shape in ordered))


def few(demand: Demand) -> Demand:
    """The demand in few enough shapes to plan with in a fraction of a second."""
    gangs = tuple(replace(gang, bundles=rounded(gang.bundles)) for gang in demand.gangs)
    return Demand(rounded(demand.requests), gangs, rounded(demand.floor))


def rounded(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    """Requests that nearly all differ are rounded up."""
    if len(requests) <= MOST_SHAPES:
        return requests
    found = counted(requests)
    for digits in (3, 2, 1):
        if len(found) <= MOST_SHAPES:
            break
        found = counted(replace(each, resources=rounded_up(each.resources, digits)) for each in found)
    return found


def counted(requests: Iterable[Request]) -> tuple[Request, ...]:
    """Each once, with how many there are of it; a count below one is nothing."""
    counts: dict[Request, int] = {}
    for request in requests:
        if request.count > 0:
            one = replace(request, count=1)
            counts[one] = counts.get(one, 0) + request.count
    return tuple(replace(one, count=count) for one, count in counts.items())


def rounded_up(amounts: Resources, digits: int) -> Resources:
    """To so many significant digits."""
    return tuple((name, -(-amount // (unit := 10 ** max(0, len(str(amount)) - digits))) * unit) for name, amount in amounts)


def gang_batch(names: Names, gang: Gang) -> Batch:
    if gang.strategy == Strategy.STRICT_PACK:
        return batch_of(names, [one_node(gang)])
    return batch_of(names, gang.bundles, apart(gang))


def apart(gang: Gang) -> str:
    """By which name nodes know that they hold a bundle already; "" where that does not matter."""
    return (gang.id or gang.details or "unnamed") if gang.strategy == Strategy.STRICT_SPREAD else ""


def one_node(gang: Gang) -> Request:
    """The bundles of a STRICT_PACK group as one."""
    return Request(total([times(bundle) for bundle in gang.bundles if bundle.count > 0]), 1, together(gang.bundles))


def times(request: Request) -> Resources:
    return tuple((name, amount * request.count) for name, amount in request.resources)


def difficulty(shape: Shape) -> tuple[object, ...]:
    request = shape.request
    terms = len(request.selectors[0]) if request.selectors else 0
    amount = sum(amount for _, amount in request.resources)
    return (bool(shape.apart), terms, len(request.resources), amount, request.resources, written(request))


def written(request: Request) -> tuple[tuple[tuple[str, tuple[str, ...], bool], ...], ...]:
    return tuple(tuple((term.key, term.values, term.excluded) for term in selector) for selector in request.selectors)


def gangs_in_order(gangs: Iterable[Gang]) -> list[Gang]:
    """The most bound and the largest first, as Ray takes them; then by name."""

    def key(gang: Gang) -> tuple[object, ...]:
        size = sum(bundle.count for bundle in gang.bundles if bundle.count > 0)
        bound = size if gang.strategy in (Strategy.STRICT_PACK, Strategy.STRICT_SPREAD) else 0
        return (-bound, -size, gang.details, gang.id, [(bundle.resources, bundle.count, written(bundle)) for bundle in gang.bundles])

    return sorted(gangs, key=key)
