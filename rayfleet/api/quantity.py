"""Kubernetes' quantities: `500m`, `2Gi`, `1e3`. Exact, and printed in the canonical form of the API server.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
DECIMAL: dict[str, Fraction] = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)}
DECIMAL_BIG = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|(n|u|m|k|[KMGTPE]i|[MGTPE]))?")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, and whether it is written with powers of 1,024 or of 10."""

    amount: Fraction
    binary: bool = False

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.amount + other.amount, self.binary if self.amount else other.binary)

    def times(self, count: int) -> Quantity:
        return Quantity(self.amount * count, self.binary)

    def ceil(self) -> int:
        """The amount in whole units (cores, bytes), rounded up."""
        return math.ceil(self.amount)

    def __str__(self) -> str:
        return canonical(self.amount, self.binary)


ZERO = Quantity(Fraction(0))


@lru_cache(maxsize=4096)
def canonical(amount: Fraction, binary: bool) -> str:
    """The amount as the API server writes it."""
    if amount.denominator == 1:
        units = BINARY if binary and abs(amount) >= 1024 else DECIMAL_BIG
        return largest(amount.numerator, units)
    for unit in ("m", "u"):
        scaled = amount / DECIMAL[unit]
        if scaled.denominator == 1:
            return f"{scaled}{unit}"
    return f"{math.ceil(amount / DECIMAL['n'])}n"


def largest(amount: int, units: dict[str, int]) -> str:
    """The amount with the largest unit that leaves a whole number."""
    best = str(amount)
    for unit, size in units.items():
        if amount and amount % size == 0:
            best = f"{amount // size}{unit}"
    return best


@lru_cache(maxsize=4096)
def parse(text: str | int | float) -> Quantity:
    """Raises ValueError when the text is no quantity."""
    match = FORM.fullmatch(str(text).strip())
    if not match:
        raise ValueError(f"{text!r} is no quantity; write for example 2, 500m or 4Gi")
    number, exponent, unit = match.groups()
    amount = Fraction(number)
    if exponent:
        return Quantity(amount * Fraction(10) ** int(exponent[1:]))
    if unit in BINARY:
        return Quantity(amount * BINARY[unit], binary=True)
    return Quantity(amount * (DECIMAL_BIG[unit] if unit in DECIMAL_BIG else DECIMAL[unit or ""]))
