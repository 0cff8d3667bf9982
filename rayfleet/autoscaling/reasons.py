"""Why a group grows, in a sentence with the numbers: `2 x {CPU: 4} pending for 10 s: small 1 -> 3`."""

from __future__ import annotations

from collections.abc import Mapping

from rayfleet.autoscaling.amounts import shown
from rayfleet.autoscaling.growth import Growth, Sort, Want
from rayfleet.autoscaling.replicas import Holding
from rayfleet.autoscaling.shapes import Batch
from rayfleet.autoscaling.values import Demand, Gang, Memory, Request

SHOWN = 3  # of several shapes as many are named
Since = Mapping[Request | Gang, float]


def waiting_since(demand: Demand, memory: Memory, now: float) -> dict[Request | Gang, float]:
    """Since when each shape and placement group has been asked for without a pause."""
    known = dict(memory.pending)
    keys: list[Request | Gang] = [Request(each.resources, 1, each.selectors) for each in demand.requests if each.count > 0]
    keys += demand.gangs
    return {key: min(known.get(key, now), now) for key in keys}


def why(wants: list[Want], since: Since, now: float) -> list[str]:
    return [of_one(want, since, now) for want in wants]


def of_one(want: Want, since: Since, now: float) -> str:
    what = counted(want.batch)
    if want.sort == Sort.FLOOR:
        return f"request_resources asks for {what} more"
    if want.gang is not None:
        return f"placement group {want.gang.strategy} with {what} pending for {seconds(now - since.get(want.gang, now))}"
    first = min((since.get(shape.request, now) for shape in want.batch.shapes), default=now)
    return f"{what} pending for {seconds(now - first)}"


def counted(batch: Batch) -> str:
    pairs = list(zip(batch.shapes, batch.counts, strict=True))
    named = [f"{count} x {shown(shape.request.resources)}" for shape, count in pairs[:SHOWN]]
    rest = len(pairs) - SHOWN
    return ", ".join(named) + (f" and {rest} other shapes" if rest > 0 else "")


def seconds(duration: float) -> str:
    return f"{max(0.0, duration):.0f} s"


def of_growth(each: Holding, growth: Growth, allowed: int, since: Since, now: float) -> list[str]:
    """`allowed`: how many of the new replicas may begin now."""
    opened = growth.opened.get(each.group.name, 0)
    reasons = []
    if each.base > max(each.group.replicas - len(each.done), each.held):
        reasons.append(f"minReplicas is {each.group.min_replicas}")
    elif each.base > each.group.replicas:
        reasons.append(f"{each.held} replicas are there and none is named to go")
    reasons += why(growth.reasons.get(each.group.name, []), since, now) if allowed else []
    if allowed < opened:
        reasons.append(f"{opened - allowed} more when those on their way have joined (upscalingMode)")
    return reasons
