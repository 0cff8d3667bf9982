"""What Ray is told of a decision, so that `ray status` shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rayfleet.autoscaling.amounts import UNIT
from rayfleet.autoscaling.values import HEAD, Decision, Instance, Request, State
from rayfleet.ray.gcs_messages import message

NOT_JOINED = {State.PENDING: "its Pod is being started", State.LAUNCHING: "its Ray is starting"}


def report(decision: Decision, instances: Iterable[Instance], hosts: dict[str, int]) -> bytes:
    """ReportAutoscalingStateRequest without its version numbers (`numbered`): equal reports are equal bytes. `hosts`: by group."""
    request = message("ReportAutoscalingStateRequest")
    state = request.autoscaling_state
    workers = [each for each in instances if each.group != HEAD and not each.terminating]
    for target in decision.targets:
        doomed = set(target.delete)
        there = [each for each in workers if each.group == target.group and each.pod not in doomed]
        missing = target.replicas * hosts.get(target.group, 1) - len(there)
        if missing > 0:
            state.pending_instance_requests.add(ray_node_type_name=target.group, instance_type_name=target.group, count=missing)
    for each in workers:
        if each.state in NOT_JOINED:
            details = NOT_JOINED[each.state]
            state.pending_instances.add(ray_node_type_name=each.group, instance_type_name=each.group, instance_id=each.pod, details=details)
    for infeasible in decision.infeasible:
        if infeasible.waits:
            continue  # Ray may fail what it is told is infeasible, and this runs when others have ended
        if infeasible.request is not None:
            fill(state.infeasible_resource_requests.add(), infeasible.request)
        elif infeasible.gang is not None:
            found = state.infeasible_gang_resource_requests.add(details=infeasible.gang.details)
            for bundle in infeasible.gang.bundles:
                fill(found.requests.add(), bundle)
        else:
            constraint = state.infeasible_cluster_resource_constraints.add()
            for wanted in infeasible.floor:
                fill(constraint.resource_requests.add(count=wanted.count).request, wanted)
    return bytes(request.SerializeToString(deterministic=True))


def fill(into: Any, request: Request) -> None:
    for name, amount in request.resources:
        into.resources_bundle[name] = amount / UNIT


def numbered(report: bytes, seen: int, version: int) -> bytes:
    """The report as it is sent: Ray takes none whose version is not above that of the last one it took."""
    numbers = message("ReportAutoscalingStateRequest")
    numbers.autoscaling_state.last_seen_cluster_resource_state_version = seen
    numbers.autoscaling_state.autoscaler_state_version = version
    return report + bytes(numbers.SerializeToString())  # protobuf merges what follows itself
