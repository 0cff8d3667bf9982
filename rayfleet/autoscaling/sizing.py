"""From a decision to what is written, what Ray is asked, and what is said. Pure.

Replicas and the names of Pods that go are written to the RayCluster as Ray's autoscaler writes them, but in one patch, and tested against
the version of the cluster that was decided on, so that a place in the list of groups is that of the group meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.excerpt import clip
from rayfleet.api.meta import RAYCLUSTERS, Condition
from rayfleet.autoscaling.observed import Observed, Settled
from rayfleet.autoscaling.values import Decision, State
from rayfleet.planning.actions import Resize, Subject
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.conditions import find, settle
from rayfleet.planning.plan import Call, Event, Plan, StatusWrite

SCOPE = "replicas"
SUBJECT = Subject("worker groups of", "worker groups of")
CONDITION = "Autoscaling"
ON_THE_WAY = (State.PENDING, State.LAUNCHING, State.DRAINING)


def plan(observed: Observed) -> Plan:
    """What to do next about the size of one RayCluster."""
    decision = observed.decision
    if observed.obstacle is not None:
        return hindered(observed)
    if decision is None:
        return Plan()
    verdict = working(observed, decision)
    resize = None if observed.held_back(SCOPE) else resized(observed, decision)
    events = (
        ()
        if known(observed, verdict) or verdict.reason == "Working"
        else (Event("Warning", verdict.reason, clip(verdict.message), "Resize"),)
    )
    if not any(target.changes for target in decision.targets):
        events = (*events, *said(decision))
    return Plan(
        actions=(resize,) if resize else (),
        status=told(observed, verdict),
        requeue_after=again(observed, decision),
        events=events,
        calls=tuple(calls(observed, decision)),
    )


def hindered(observed: Observed) -> Plan:
    """Nothing is decided, and after a while that is told."""
    obstacle = observed.obstacle
    assert obstacle is not None
    left = observed.since + obstacle.patience - observed.now
    if obstacle.patience and left > 0:
        return Plan(requeue_after=left)
    again = None if observed.retry_at is None else max(observed.retry_at - observed.now, 0.1)
    return Plan(status=told(observed, Condition(CONDITION, "False", obstacle.reason, clip(obstacle.message))), requeue_after=again)


def again(observed: Observed, decision: Decision) -> float | None:
    """Seconds until the same observations could mean something else, or until a write that was refused may be tried again."""
    waits = [observed.held_back(SCOPE)] if observed.held_back(SCOPE) else []
    if decision.again_at is not None:
        waits.append(max(decision.again_at - observed.now, 0.1))
    return min(waits, default=None)


def resized(observed: Observed, decision: Decision) -> Resize | None:
    changed = [target for target in decision.targets if target.changes]
    if not changed:
        return None
    meta = observed.cluster.metadata
    return Resize(
        resource=RAYCLUSTERS,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        operations=tuple(operations(observed, decision)),
        scope=SCOPE,
        reason="; ".join(sentence.text for sentence in decision.sentences) or "the names of Pods that are gone are dropped",
        subject=SUBJECT,
        failed_event="FailedToResize",
        events=tuple((sentence.reason, sentence.text) for sentence in decision.sentences),
    )


def operations(observed: Observed, decision: Decision) -> Iterator[dict[str, Any]]:
    """By the place that each group has in the very version that the write is tested against."""
    places = {group.group_name: place for place, group in enumerate(observed.cluster.spec.worker_group_specs)}
    for target in decision.targets:
        path = f"/spec/workerGroupSpecs/{places[target.group]}"
        if target.replicas != target.was:
            yield {"op": "add", "path": f"{path}/replicas", "value": target.replicas}
        if target.delete != target.deleted_before:
            yield {"op": "add", "path": f"{path}/scaleStrategy", "value": {"workersToDelete": list(target.delete)}}


def calls(observed: Observed, decision: Decision) -> Iterator[Call]:
    eager = any(each.state in ON_THE_WAY or each.terminating for each in observed.instances) or any(
        target.changes for target in decision.targets
    )
    said = tuple(sentence.reason for sentence in decision.sentences)
    settled = Settled(decision.memory, observed.report, eager, said, len(decision.infeasible))
    yield Call(observed.head, settled, "memory", "the decision", "", "", "")
    for drain in decision.drains:
        scope, subject = f"drain/{drain.node}", f"Drain of the node in Pod {drain.pod}"
        if not observed.held_back(scope):
            yield Call(observed.head, drain, scope, subject, "", "", "FailedToDrain")


def said(decision: Decision) -> tuple[Event, ...]:
    return tuple(Event("Normal", sentence.reason, clip(sentence.text), "Resize") for sentence in decision.sentences)


def working(observed: Observed, decision: Decision) -> Condition:
    """The condition while the operator sizes the groups."""
    notes = [f"{name} is only for Ray's own autoscaler" for name in observed.unknown]
    if decision.infeasible:
        remedies = sorted(infeasible.remedy for infeasible in decision.infeasible)
        return Condition(CONDITION, "True", "DemandInfeasible", clip("; ".join([*remedies, *notes])))
    return Condition(CONDITION, "True", "Working", clip("; ".join(notes)))


def known(observed: Observed, verdict: Condition) -> bool:
    before = find(observed.cluster.status.conditions, CONDITION)
    return before is not None and (before.status, before.reason, before.message) == (verdict.status, verdict.reason, verdict.message)


def told(observed: Observed, verdict: Condition) -> StatusWrite | None:
    """The change of this one condition; the others are the RayCluster's own controller's."""
    if known(observed, verdict):
        return None
    cluster = observed.cluster
    verdict = msgspec.structs.replace(verdict, observed_generation=cluster.metadata.generation)
    others = [condition for condition in cluster.status.conditions if condition.type != CONDITION]
    settled = settle(cluster.status.conditions, [*others, verdict], rfc3339(observed.now))
    return StatusWrite(
        {"conditions": msgspec.to_builtins(settled)},
        cluster.metadata.resource_version,
        True,
        f"{CONDITION}={verdict.status} ({verdict.reason})",
    )
