"""The back-off between two lives of a container, derived from its recorded attempts alone, so that a new kubelet goes on where the old was.

Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy (at once, 10 s, 20 s, ... 300 s; forgotten after
ten minutes without a crash).
"""

from __future__ import annotations

from collections.abc import Sequence

from rayfleet.kubelet.attempt import Attempt

FIRST_DELAY, LONGEST_DELAY, FORGOTTEN_AFTER = 10.0, 300.0, 600.0  # seconds


def delay(history: Sequence[Attempt]) -> float:
    """Seconds to wait after the end of the last attempt; 0 after the first."""
    wait, following = 0.0, 0.0
    for attempt in history:
        if attempt.finished_at is not None and attempt.finished_at - attempt.started_at > FORGOTTEN_AFTER:
            following = 0.0
        wait = following
        following = min(following * 2 or FIRST_DELAY, LONGEST_DELAY)
    return wait


def wanted(policy: str, exit_code: int) -> bool:
    """Whether a container that ended so is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
