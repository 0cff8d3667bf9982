"""What is wrong at one place of an object, as a sentence for the person who wrote it."""

from __future__ import annotations

import msgspec

LONGEST_VALUE = 120


class Fault(msgspec.Struct, frozen=True, gc=False, order=True):
    """`path` as in the manifest, `value` what is there and why that is wrong, `allowed` what may be there ("" when the value says it)."""

    path: str
    value: str
    allowed: str = ""

    def __str__(self) -> str:
        sentence = f"{self.value}; {self.allowed}" if self.allowed else self.value
        return f"{self.path}: {sentence}" if self.path else sentence


def shown(value: object) -> str:
    """A value as it is quoted in a sentence, cut when it is long."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
