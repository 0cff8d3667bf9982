"""Times as the API writes them, from seconds that were read elsewhere. No clock is read here."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, whole seconds: `2026-01-01T00:00:00Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since 1970. Raises ValueError when the text is no RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


CLOCKS_DIFFER = 120.0
"""Seconds by which two clocks differ at most, where none of them is wrong."""


def is_to_come(text: str | None, now: float) -> bool:
    """Can only a clock that was wrong have written this time? What is counted from it would wait for as long as that was ahead. A text that
    is no time is none that is to come."""
    try:
        return bool(text) and parse_rfc3339(text or "") > now + CLOCKS_DIFFER
    except ValueError:
        return False
