"""The Ray version that a spec names, as far as it can be compared."""

from __future__ import annotations

import re

NUMBERS = re.compile(r"\s*v?(\d+(?:\.\d+)+)")


def numbers_of(text: str) -> tuple[int, ...] | None:
    """`2.52.0rc1` -> (2, 52, 0); None when the text names no version (`nightly`)."""
    match = NUMBERS.match(text)
    return tuple(map(int, match[1].split("."))) if match else None


def too_old(text: str, least: str) -> str:
    """Why the version is not at least `least`, as part of a sentence; "" when it is."""
    if not text:
        return "rayVersion is not set"
    numbers = numbers_of(text)
    if numbers is None:
        return f'rayVersion "{text}" names no version'
    whole = (*numbers, 0, 0)  # 2.52 is 2.52.0
    return f"rayVersion is {text}" if whole < (numbers_of(least) or ()) else ""
