"""Amounts of resources, counted as Ray counts them: whole ten-thousandths (`FixedPoint`, RESOURCE_UNIT_SCALING = 10,000), never floats.

`{"CPU": 0.5, "memory": 2e9}` is `(("CPU", 5000), ("memory", 20000000000000))`: sorted by name, without zeros, so that equal demands are
equal values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

UNIT = 10_000
LARGEST = 2**62  # of one amount, in ten-thousandths: Ray keeps them in int64
IMPLICIT = "node:__internal_implicit_resource_"  # every node has one of each such resource (Ray's IMPLICIT_RESOURCE_PREFIX)

Resources = tuple[tuple[str, int], ...]


def resources(raw: Mapping[str, float]) -> Resources:
    """Ray's floats as ten-thousandths, rounded to the nearest. Nothing, less than nothing and NaN are no amount; infinity is LARGEST."""
    return tuple(sorted((name, amount) for name, value in raw.items() if (amount := ten_thousandths(value)) > 0))


def ten_thousandths(value: float) -> int:
    """0 for what is no amount."""
    if math.isnan(value) or value <= 0:
        return 0
    return LARGEST if value >= LARGEST / UNIT else int(value * UNIT + 0.5)


def total(several: list[Resources]) -> Resources:
    sums: dict[str, int] = {}
    for each in several:
        for name, amount in each:
            sums[name] = sums.get(name, 0) + amount
    return tuple(sorted(sums.items()))


def shown(amounts: Resources) -> str:
    """As Ray's users write it: `{CPU: 0.5, memory: 2000000000}`."""
    return "{" + ", ".join(f"{name}: {number(amount)}" for name, amount in amounts) + "}"


def number(amount: int) -> str:
    whole, rest = divmod(amount, UNIT)
    return f"{whole}.{rest:04}".rstrip("0") if rest else str(whole)
