"""Failed attempts as observations: what went wrong in which part of an object, how often, and when to try again.

Source of the figures: kubelet's restart back-off and client-go's per-item exponential limiter.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_RETRY = 5.0
LONGEST_RETRY = 300.0
FORGOTTEN_AFTER = 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """`retry_at` is in the observer's clock (seconds). `message` is the API's text, or why something broken was removed.

    `event` is the CamelCase reason of what failed (`FailedToCreateWorkerPod`, `NameConflict`); "" for a setback.
    """

    scope: str
    attempts: int
    retry_at: float
    message: str = ""
    event: str = ""


def retry_delay(attempts: int, *, free: int = 0) -> float:
    """Seconds to wait after the given number of failures in a row, of which the first `free` cost nothing."""
    if attempts <= free:
        return 0.0
    return min(FIRST_RETRY * 2.0 ** min(attempts - free - 1, 10), LONGEST_RETRY)
