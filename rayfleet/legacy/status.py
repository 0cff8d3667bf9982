"""The old status: a phase, and how often the head was lost. The old operator said Running before there was a head, and never Updating."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.raycluster import RayCluster
from rayfleet.legacy.observed import Observed
from rayfleet.planning.conditions import find, is_true
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.plan import StatusWrite

RUNNING, UPDATING, RECOVERY, ERROR = "Running", "Updating", "AutoscalingExceptionRecovery", "Error"


def status_write(observed: Observed, phase: str) -> StatusWrite | None:
    """The change of the status; None when it says all this already."""
    meta, before = observed.old.metadata, observed.old.status
    lost = phase == RECOVERY != before.phase
    after = {"phase": phase, "autoscalerRetries": before.autoscaler_retries + lost}
    patch = merge_patch({"phase": before.phase, "autoscalerRetries": before.autoscaler_retries}, after)
    return StatusWrite(patch, meta.resource_version, True, f"phase is {phase or 'none yet'}") if patch else None


def phase_of(observed: Observed, cluster: RayCluster | Undecodable | None, changed: bool) -> str:
    """Of a valid object. `changed`: the cluster is to get another spec."""
    before = observed.old.status.phase
    if isinstance(cluster, Undecodable):
        return ERROR
    if cluster is None:
        return UPDATING if before == UPDATING else ""
    status = cluster.status
    valid = find(status.conditions, "Valid")
    if valid is not None and valid.status == "False":
        return ERROR
    current = not changed and status.observed_generation >= cluster.metadata.generation
    if current and status.state == "ready" and is_true(status.conditions, "HeadPodReady"):
        return RUNNING
    if not is_true(status.conditions, "RayClusterProvisioned"):
        return ""
    if not current or before == UPDATING:
        return UPDATING
    return before if is_true(status.conditions, "HeadPodReady") else RECOVERY
