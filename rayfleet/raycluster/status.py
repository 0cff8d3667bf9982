"""A RayCluster's status: a judgement on what was observed alone, and a write only when its meaning changed (KubeRay, 1.2, 2.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rayfleet.api.fault import Fault
from rayfleet.api.meta import Condition
from rayfleet.api.raycluster import RayCluster, RayClusterStatus
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.conditions import is_true, settle
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.plan import StatusWrite
from rayfleet.raycluster import counters, judgement
from rayfleet.raycluster.observed import Observed


def status_write(observed: Observed, cluster: RayCluster) -> StatusWrite | None:
    """The change of a valid cluster's status; None when it says all this already."""
    conditions = [*judgement.conditions(observed, cluster), judgement.valid(())]
    after = {
        **counters.totals(cluster),
        **counters.replicas(observed, cluster),
        **counters.head(observed, cluster),
        "state": judgement.state(observed, cluster, conditions),
    }
    return written(observed, cluster.status, after, conditions)


def refusal_write(observed: Observed, faults: Sequence[Fault]) -> StatusWrite | None:
    """The change of a refused cluster's status: only what is wrong is new, what was last observed stays."""
    before = observed.cluster.status
    others = [condition for condition in before.conditions if condition.type != "Valid"]
    kept = {name: value for name, value in builtins(before).items() if name not in STAMPS}
    return written(observed, before, kept, [*others, judgement.valid(faults)])


def trouble_write(observed: Observed) -> StatusWrite | None:
    """The change of the status of a cluster that is going: only what holds it up is told, the rest would be news to nobody."""
    before = observed.cluster.status
    cluster = observed.cluster
    failure = judgement.replica_failure(observed, cluster) if isinstance(cluster, RayCluster) else None
    if failure is None and not is_true(before.conditions, "ReplicaFailure"):
        return None
    others = [condition for condition in before.conditions if condition.type != "ReplicaFailure"]
    kept = {name: value for name, value in builtins(before).items() if name not in STAMPS}
    return written(observed, before, kept, [*others, failure] if failure else others)


STAMPS = ("conditions", "observedGeneration", "lastUpdateTime", "stateTransitionTimes")


def written(observed: Observed, before: RayClusterStatus, after: dict[str, Any], conditions: Sequence[Condition]) -> StatusWrite | None:
    meta = observed.cluster.metadata
    now = max(rfc3339(observed.now), before.last_update_time or "")  # the clock may have been set back
    stamped = [msgspec.structs.replace(condition, observed_generation=meta.generation) for condition in conditions]
    settled = settle(before.conditions, stamped, now)
    old = builtins(before)
    new = {name: value for name, value in after.items() if value not in ("", 0, {})}
    new |= {
        "conditions": msgspec.to_builtins(settled),
        "observedGeneration": meta.generation,
        "stateTransitionTimes": transition_times(before, new.get("state", ""), now),
        "lastUpdateTime": old.get("lastUpdateTime"),
    }
    patch = merge_patch(old, {name: value for name, value in new.items() if value not in (None, {})})
    if not patch:
        return None
    urgent = is_urgent(before, settled, patch)
    return StatusWrite({**patch, "lastUpdateTime": now}, meta.resource_version, urgent, "; ".join(said(before, settled, patch)))


def builtins(status: RayClusterStatus) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(status)
    return {name: part for name, part in value.items() if part != {}}


def transition_times(before: RayClusterStatus, state: str, now: str) -> dict[str, str]:
    """When each state was last entered."""
    times = dict(before.state_transition_times)
    if state and state != before.state:
        times[state] = now
    return times


def is_urgent(before: RayClusterStatus, after: Sequence[Condition], patch: dict[str, Any]) -> bool:
    """Does a condition or the state flip? While a cluster is being made good news may wait a second, by when there is more to say: the very
    first status, unless it complains or all is there already, and that the head is ready."""
    if not before.conditions:
        return is_true(after, "RayClusterProvisioned") or is_true(after, "ReplicaFailure") or not is_true(after, "Valid")
    flips = {(c.type, c.status) for c in before.conditions} ^ {(c.type, c.status) for c in after}
    if not is_true(before.conditions, "RayClusterProvisioned") and is_true(after, "HeadPodReady"):
        flips -= {("HeadPodReady", "True"), ("HeadPodReady", "False")}
    return "state" in patch or bool(flips)


def said(before: RayClusterStatus, after: Sequence[Condition], patch: dict[str, Any]) -> Iterator[str]:
    """What the write says, for the log and the transcript."""
    old = {condition.type: condition for condition in before.conditions}
    for condition in after:
        known = old.get(condition.type)
        if known is None or (known.status, known.reason) != (condition.status, condition.reason):
            yield f"{condition.type}={condition.status} ({condition.reason})"
    for condition_type in sorted(old.keys() - {condition.type for condition in after}):
        yield f"{condition_type} is over"
    for name in sorted(patch.keys() - {"conditions", "stateTransitionTimes", "lastUpdateTime"}):
        value = patch[name]
        if isinstance(value, dict):
            yield f"{name} {', '.join(f'{part}={value[part]}' for part in sorted(value))}"
        else:
            yield f"{name}={value if value is not None else 'none'}"
