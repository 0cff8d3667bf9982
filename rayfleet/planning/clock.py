"""Times as the API writes them, from seconds that were read elsewhere. No clock is read here."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, whole seconds: `2026-01-01T00:00:00Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since 1970. Raises ValueError when the text is no RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
