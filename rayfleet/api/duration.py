"""Durations as Go writes them, which is how annotations of KubeRay give them: `90s`, `1h30m`, `1.5h`; whole seconds without a unit too."""

from __future__ import annotations

import re

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PART = r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)"


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError for what is no duration."""
    if text.isascii() and text.isdecimal():
        return float(text)
    if not re.fullmatch(f"({PART})+", text):
        raise ValueError(f"no duration: {text}")
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(PART, text))
