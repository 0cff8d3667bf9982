"""A cluster that the operator is to size, and why it does not, or not as far as its tasks would like."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.diagnosis.finding import Finding, clipped
from rayfleet.diagnosis.refusals import condition_step
from rayfleet.diagnosis.situation import Situation
from rayfleet.planning.conditions import find

ADVICE = {
    "HeadUnreachable": "may the operator reach the head's Pod at its GCS port? a network policy must let it in",
    "RayTooOld": "use Ray 2.9 or later, or the annotation rayfleet.dev/autoscaling: sidecar",
    "TokenRefused": "a head keeps the token that it was started with; if its Secret was made anew, delete the head's Pod",
    "OtherCluster": "two Pods have had the head's address; it passes as soon as the cluster's status shows the new one",
}
OTHERS = "rayfleet logs raycluster/NAME --autoscaler tells what was done; the head's own log may say more"
NO_FAULT = ("SidecarPresent", "HeadNotReady", "Suspended", "InvalidSpec")
"""Told elsewhere, or as it should be."""


def not_sized(situation: Situation) -> Iterator[Finding]:
    condition = find(situation.cluster.status.conditions, "Autoscaling")
    if condition is None or condition.status == "True" or condition.reason in NO_FAULT:
        return
    seen = "The operator is to size the cluster, and cannot."
    place = f"raycluster/{situation.cluster.metadata.name}"
    yield Finding("NotSized", seen, (place,), (condition_step(condition),), (ADVICE.get(condition.reason, OTHERS),))


def of_sizes(situation: Situation) -> Iterator[str]:
    """What is no fault of anybody's."""
    condition = find(situation.cluster.status.conditions, "Autoscaling")
    if condition is not None and condition.reason in ("SidecarPresent", "DemandInfeasible"):
        yield clipped(f"autoscaling: {condition.message}")
