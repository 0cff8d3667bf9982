"""A RayService's status: a judgement on what was observed alone, and a write only when its meaning changed (KubeRay, 1.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.fault import Fault
from rayfleet.api.meta import Condition
from rayfleet.api.rayservice import RayService
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.conditions import is_true, settle
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.plan import StatusWrite
from rayfleet.rayservice import judgement
from rayfleet.rayservice.applications import applications_of
from rayfleet.rayservice.clusters import Roles, is_serve
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental, migrated_at, weights
from rayfleet.rayservice.steps import capacity_of
from rayfleet.resources.gateway import cluster_serve_mark

ACTIVE, PENDING = "activeServiceStatus", "pendingServiceStatus"


def status_write(observed: Observed, service: RayService, roles: Roles) -> StatusWrite | None:
    """The change of a valid service's status; None when it says all this already."""
    before = service.status
    told = {ACTIVE: told_of(observed, service, roles.active), PENDING: told_of(observed, service, roles.second)}
    front = roles.active or roles.pending
    applications = applications_of(service, front) if front else {}
    endpoints = count_endpoints(observed, roles)
    conditions = list(judgement.conditions(observed, service, roles, applications, endpoints))
    after = {**told, "numServeEndpoints": endpoints, "serviceStatus": "Running" if is_true(conditions, "Ready") else ""}
    copies = {ACTIVE: copy_of(roles.active), PENDING: copy_of(roles.second)}
    return written(observed, before, after, conditions, copies)


def refusal_write(observed: Observed, faults: Sequence[Fault]) -> StatusWrite | None:
    """The change of a refused service's status: only what is wrong is new, what was last observed stays."""
    before = observed.service.status
    others = [condition for condition in before.conditions if condition.type != "Ready"]
    value = builtins(before)
    kept = {name: value[name] for name in (ACTIVE, PENDING, "numServeEndpoints") if name in value}
    return written(observed, before, kept, [*others, judgement.invalid(faults)], {})


def told_of(observed: Observed, service: RayService, member: Member | None) -> dict[str, Any]:
    """Of one cluster: its name, its applications and its shares, without the copy of its own status."""
    if member is None:
        return {}
    applications = {name: msgspec.to_builtins(found) for name, found in applications_of(service, member).items()}
    told = {"rayClusterName": member.name, **({"applicationStatuses": applications} if applications else {})}
    return {**told, **shares_told(observed, service, member)} if is_incremental(service) else told


def shares_told(observed: Observed, service: RayService, member: Member) -> dict[str, Any]:
    """Of its replicas, and of the traffic once the route names it."""
    told: dict[str, Any] = {"targetCapacity": capacity_of(service, member)}
    shares = weights(observed)
    if member.name in shares:
        since = migrated_at(observed, service)
        told |= {"trafficRoutedPercent": shares[member.name], **({"lastTrafficMigratedTime": since} if since else {})}
    return told


def copy_of(member: Member | None) -> Any:
    return msgspec.to_builtins(member.cluster.status) if member else None


def count_endpoints(observed: Observed, roles: Roles) -> int:
    """Pods that take requests, each once (KubeRay, 4.3); of the clusters' own Services those of clusters that are in use."""
    unused = {cluster_serve_mark(member.name) for member in roles.unused}
    views = [view for view in observed.slices if is_serve(view.metadata.labels) and view.metadata.label(labels.SERVE) not in unused]
    found = (each for view in views for each in view.endpoints or () if each.ready)
    return len({each.target_ref.uid for each in found if each.target_ref is not None})


def written(
    observed: Observed, before: Any, after: dict[str, Any], conditions: Sequence[Condition], copies: Mapping[str, Any]
) -> StatusWrite | None:
    """`copies` are the clusters' own statuses: they go along with a change of ours, and are none by themselves."""
    meta = observed.service.metadata
    now = max(rfc3339(observed.now), getattr(before, "last_update_time", None) or "")  # the clock may have been set back
    stamped = [msgspec.structs.replace(condition, observed_generation=meta.generation) for condition in conditions]
    settled = settle(before.conditions, stamped, now)
    old = builtins(before)
    new = {name: value for name, value in after.items() if value not in ("", 0, {})}
    new |= {"conditions": msgspec.to_builtins(settled), "observedGeneration": meta.generation, "lastUpdateTime": old.get("lastUpdateTime")}
    uncopied = {name: value for name, part in old.items() if (value := without_copy(part) if name in copies else part) != {}}
    patch = merge_patch(uncopied, {name: value for name, value in new.items() if value not in (None, {})})
    if not patch:
        return None
    for name, copy in copies.items():
        stale = (old.get(name) or {}).get("rayClusterStatus")
        if copy or stale:
            inner = merge_patch({"rayClusterStatus": stale} if stale else {}, {"rayClusterStatus": copy} if copy else {})
            if inner and patch.get(name, {}) is not None:
                patch[name] = {**patch.get(name, {}), **inner}
    reason = "; ".join(said(before.conditions, settled, patch))
    return StatusWrite({**patch, "lastUpdateTime": now}, meta.resource_version, is_urgent(before.conditions, settled), reason)


def without_copy(value: Any) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name != "rayClusterStatus"}


def builtins(status: Any) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(status)
    kept = {name: part for name, part in value.items() if part != {}}
    return {name: part for name, part in kept.items() if name not in (ACTIVE, PENDING) or part}


def is_urgent(before: Sequence[Condition], after: Sequence[Condition]) -> bool:
    """Does a condition flip? The very first status may wait a second, by when there is more to say; not that the spec is wrong. So may
    that a cluster is to be made: a moment later it is there."""
    if any(condition.reason == "ValidationFailed" for condition in after):
        return True
    if not before:
        return is_true(after, "Ready")
    known = {(condition.type, condition.status) for condition in before}
    return any((each.type, each.status) not in known for each in after if each.reason != "PendingClusterMissing")


def said(before: Sequence[Condition], after: Sequence[Condition], patch: Mapping[str, Any]) -> Iterator[str]:
    """What the write says, for the log and the transcript."""
    old = {condition.type: condition for condition in before}
    for condition in after:
        known = old.get(condition.type)
        if known is None or (known.status, known.reason) != (condition.status, condition.reason):
            yield f"{condition.type}={condition.status} ({condition.reason})"
        elif known.message != condition.message:
            yield f"{condition.type}: {condition.message}"
    for name, word in ((ACTIVE, "active"), (PENDING, "pending")):
        value = patch.get(name)
        if isinstance(value, dict):
            yield from part_said(word, value)
        elif name in patch:
            yield f"{word} none"
    for name in ("numServeEndpoints", "observedGeneration"):
        if name in patch:
            yield f"{name}={patch[name] or 0}"


def part_said(word: str, value: Mapping[str, Any]) -> Iterator[str]:
    if "rayClusterName" in value:
        yield f"{word} {value['rayClusterName'] or 'none'}"
    for name, what in (("targetCapacity", "capacity"), ("trafficRoutedPercent", "traffic")):
        if value.get(name) is not None:
            yield f"{word} {what} {value[name]} %"
    for name, part in sorted((value.get("applicationStatuses") or {}).items()):
        if not part or "status" in part:
            yield f"{word} application {name} {part['status'] if part else 'gone'}"
