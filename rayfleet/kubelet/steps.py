"""What a Pod needs next: containers to start now, or a time to look again, or nothing for ever. Pure.

Init containers run one after the other, each until it succeeded; one with restartPolicy Always (a sidecar) need only have started. Then
all containers at once. https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#detailed-behavior
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rayfleet.kubelet import restart
from rayfleet.kubelet.attempt import History


@dataclass(frozen=True, slots=True)
class Steps:
    start: tuple[str, ...] = ()
    wake_at: float | None = None  # the first end of a back-off
    backing_off: Mapping[str, float] = field(default_factory=dict)  # container -> seconds between its lives
    outcome: str = ""  # "Succeeded" or "Failed": nothing will run again


def next_steps(
    spec: Mapping[str, Any],
    histories: Mapping[str, History],
    started: Collection[str],
    now: float,
    scale: float = 1.0,
    earlier: Mapping[str, int] | None = None,
) -> Steps:
    """`started`: running containers whose startup probe, if any, has passed. `earlier`: each container's last attempt before the Pod lost
    all that ran (its node's end): init containers run again after it, and no back-off counts what was before.
    https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#pod-restart-reasons
    """
    policy = spec.get("restartPolicy") or "Always"
    if outcome := outcome_of(spec, policy, histories):
        return Steps(outcome=outcome)
    recent = {name: tuple(one for one in history if one.attempt > (earlier or {}).get(name, -1)) for name, history in histories.items()}
    begun = any(recent.get(container["name"]) for container in spec.get("containers") or ())
    for container in spec.get("initContainers") or ():
        name, history = container["name"], recent.get(container["name"], ())
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar and (begun or name in started):  # once the others run, it is one of them
            continue
        if history and not history[-1].running and history[-1].exit_code == 0 and not sidecar:
            continue
        return gather({name: history}, now, scale)
    sidecars = [each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    due = [*sidecars, *(each["name"] for each in spec.get("containers") or () if not over(histories.get(each["name"], ()), policy))]
    return gather({name: recent.get(name, ()) for name in due}, now, scale)


def outcome_of(spec: Mapping[str, Any], policy: str, histories: Mapping[str, History]) -> str:
    """What has become of the Pod; "" while something of it runs or will run."""
    inits = [each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") != "Always"]
    if policy == "Never" and any(over(histories.get(name, ()), policy) and histories[name][-1].exit_code for name in inits):
        return "Failed"
    lives = [histories.get(each["name"], ()) for each in spec.get("containers") or ()]
    if not all(over(history, policy) for history in lives):
        return ""
    return "Failed" if any(history[-1].exit_code for history in lives) else "Succeeded"


def over(history: History, policy: str) -> bool:
    """Has the container ended for good?"""
    return bool(history) and not history[-1].running and not restart.wanted(policy, history[-1].exit_code or 0)


def gather(due: Mapping[str, History], now: float, scale: float) -> Steps:
    """Those that do not run: which may start now, and how long the others still wait."""
    start: list[str] = []
    waits: dict[str, float] = {}
    wake_at: list[float] = []
    for name, history in due.items():
        if history and history[-1].running:
            continue
        seconds = restart.delay(history) * scale
        ended = (history[-1].finished_at or 0.0) if history else 0.0
        ready_at = ended + seconds if ended <= now else now  # an end that is yet to come: the clock was set back since then
        if ready_at <= now:
            start.append(name)
        else:
            waits[name] = seconds
            wake_at.append(ready_at)
    return Steps(tuple(start), min(wake_at, default=None), waits)
