"""Why a Pod is not ready, or has failed, in the kubelet's words."""

from __future__ import annotations

from rayfleet.api.views import PodView
from rayfleet.planning.conditions import find

COMING_UP = ("HeadPodNotFound", "ContainersNotReady", "ContainerCreating", "PodInitializing", "Unknown", "")
"""Reasons which say only that it is not ready yet."""


def not_ready(pod: PodView) -> tuple[str, str]:
    """(reason, message): the most telling that the kubelet gives."""
    ready = find(pod.status.conditions or (), "Ready")
    if ready and ready.reason == "ContainersNotReady":
        # Init containers first: while one of them fails, the others only say that they wait.
        for status in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ())):
            state = status.state.waiting or status.state.terminated
            if not status.ready and state and state.reason:
                return state.reason, state.message
    if ready and ready.reason:
        return ready.reason, ready.message
    scheduled = find(pod.status.conditions or (), "PodScheduled")
    if scheduled and scheduled.status == "False" and scheduled.reason:
        return scheduled.reason, scheduled.message
    return "Unknown", ""


def because(pod: PodView) -> str:
    """The kubelet's word for a failure, as the end of a sentence; "" when it gave none."""
    ray = pod.ray_status
    if pod.status.reason:
        return f" ({pod.status.reason})"
    for initial in pod.status.init_container_statuses or ():
        if initial.state.terminated and initial.state.terminated.exit_code:
            return f" (init container {initial.name}: exit code {initial.state.terminated.exit_code})"
    if ray and ray.state.terminated:
        return f" (exit code {ray.state.terminated.exit_code})"
    return ""
