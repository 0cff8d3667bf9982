"""Demand that no allowed size of the cluster can hold: what would satisfy it, in a sentence without times, so that it stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rayfleet.autoscaling import amounts, selectors
from rayfleet.autoscaling.growth import Growth, Sort, Want
from rayfleet.autoscaling.packing import Limits, pack
from rayfleet.autoscaling.replicas import MOST, Holding
from rayfleet.autoscaling.shapes import Batch, Shape
from rayfleet.autoscaling.values import Group, Infeasible, Request

SHOWN = 3  # of several shapes or groups as many are named


def infeasible(growth: Growth, holdings: Mapping[str, Holding]) -> Iterator[Infeasible]:
    """In the order of the demand. `waits`: the groups' nodes could hold it, there may only be no more of them; Ray need not give it up."""
    for want in growth.unmet:
        hopeless = [shape for shape in want.batch.shapes if not fits_somewhere(shape, growth)]
        if want.sort == Sort.TASKS:
            for shape, count in zip(want.batch.shapes, want.batch.counts, strict=True):
                if shape in hopeless:
                    yield Infeasible(misfit(shape, growth.limits.groups), request=replace(shape.request, count=count))
            kept = [(shape, count) for shape, count in zip(want.batch.shapes, want.batch.counts, strict=True) if shape not in hopeless]
            if kept:
                remedy = more_of(Batch(tuple(shape for shape, _ in kept), tuple(count for _, count in kept)), growth, holdings)
                yield from (Infeasible(remedy, request=replace(shape.request, count=count), waits=True) for shape, count in kept)
        else:
            remedy = misfit(hopeless[0], growth.limits.groups) if hopeless else more_of(want.batch, growth, holdings)
            yield of_whole(want, remedy, waits=not hopeless)


def of_whole(want: Want, remedy: str, *, waits: bool) -> Infeasible:
    if want.gang is not None:
        return Infeasible(remedy, gang=want.gang, waits=waits)
    requests = (replace(shape.request, count=count) for shape, count in zip(want.batch.shapes, want.batch.counts, strict=True))
    return Infeasible(remedy, floor=tuple(requests), waits=waits)


def fits_somewhere(shape: Shape, growth: Growth) -> bool:
    """On an empty node of a group, or of one that is there."""
    groups = growth.limits.groups.values()
    return any(lacks(shape.request, each.resources, each.labels) == "" for each in groups) or any(
        lacks(shape.request, each.total, each.labels) == "" for each in growth.stock.nodes()
    )


def lacks(request: Request, resources: amounts.Resources, labels: tuple[tuple[str, str], ...]) -> str:
    """What an empty node has too little of, as words; "" when it could hold the request."""
    have = dict(resources)
    short = [
        f"{name} ({amounts.number(have.get(name, 0))} of {amounts.number(amount)})"
        for name, amount in request.resources
        if have.get(name, amounts.UNIT if name.startswith(amounts.IMPLICIT) else 0) < amount
    ]
    if request.selectors and not selectors.preference(dict(labels), request.selectors):
        short.append(f"the label {selectors.shown(request.selectors[0])}")
    return ", ".join(short)


def misfit(shape: Shape, groups: Mapping[str, Group]) -> str:
    """No node is like that: what one would need, and what the nearest group has too little of."""
    request = shape.request
    wanted = f"{amounts.shown(request.resources)} needs a group whose nodes have as much"
    if request.selectors:
        wanted += f" and {selectors.shown(request.selectors[0])}"
    short = {name: lacks(request, group.resources, group.labels) for name, group in groups.items()}
    if not short:
        return f"{wanted}: there is no group"
    nearest = min(sorted(short), key=lambda name: short[name].count(","))
    return f"{wanted}: {nearest} lacks {short[nearest]}"


def more_of(batch: Batch, growth: Growth, holdings: Mapping[str, Holding]) -> str:
    """The limits that would have to be higher. Without them the demand has room."""
    groups = growth.limits.groups
    free = pack(growth.stock, batch, Limits(groups, dict.fromkeys(groups, MOST)))
    what = ", ".join(
        f"{count} x {amounts.shown(shape.request.resources)}" for shape, count in list(zip(batch.shapes, batch.counts, strict=True))[:SHOWN]
    )
    if not free.complete or not free.opened:
        return f"{what} waits until nodes that are there have room"
    raised = []
    for name, count in sorted(free.opened.items()):
        most, size = groups[name].max_replicas, holdings[name].base + growth.opened.get(name, 0) + count
        raised.append(f"maxReplicas of {name} {most} -> {size}" if size > most else f"a higher limit of workers for {count} more of {name}")
    return f"{what} would fit with {', '.join(raised[:SHOWN])}"
