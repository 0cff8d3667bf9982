"""What a row of probe results means. Pure.

Source: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds and counts, with Kubernetes' defaults and least values."""

    delay: float
    period: float
    timeout: float
    successes: int
    failures: int


def timing(probe: Mapping[str, Any]) -> Timing:
    return Timing(
        delay=float(probe.get("initialDelaySeconds") or 0),
        period=float(probe.get("periodSeconds") or 10),
        timeout=float(probe.get("timeoutSeconds") or 1),
        successes=int(probe.get("successThreshold") or 1),
        failures=int(probe.get("failureThreshold") or 3),
    )


def first_in(rule: Timing, started_at: float, now: float) -> float:
    """Seconds until the first probe of a container; never more than its delay: the clock may have been set back since the start."""
    return min(rule.delay, max(0.0, started_at + rule.delay - now))


@dataclass(frozen=True, slots=True)
class Tally:
    """The verdict so far (None before the first), and how many like results came in a row."""

    verdict: bool | None = None
    result: bool | None = None
    row: int = 0


def count(tally: Tally, result: bool, rule: Timing) -> Tally:
    """The tally after one more result: the verdict turns when as many came in a row as the thresholds ask."""
    row = tally.row + 1 if tally.result is result else 1
    counted = replace(tally, result=result, row=row)
    needed = rule.successes if result else rule.failures
    return replace(counted, verdict=result) if row >= needed else counted
