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
    spec: Mapping[str, Any], histories: Mapping[str, History], started: Collection[str], now: float, scale: float = 1.0
) -> Steps:
    """`started`: running containers whose startup probe, if any, has passed."""
    policy = spec.get("restartPolicy") or "Always"
    begun = any(histories.get(container["name"]) for container in spec.get("containers") or ())
    for container in spec.get("initContainers") or ():
        name, history = container["name"], histories.get(container["name"], ())
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar and (begun or name in started):  # once the others run, it is one of them
            continue
        if history and not history[-1].running and history[-1].exit_code == 0 and not sidecar:
            continue
        if history and not history[-1].running and policy == "Never" and not sidecar:
            return Steps(outcome="Failed")
        return gather({name: history}, now, scale)
    return main_steps(spec, policy, histories, now, scale)


def main_steps(spec: Mapping[str, Any], policy: str, histories: Mapping[str, History], now: float, scale: float) -> Steps:
    due: dict[str, History] = {}
    codes: list[int] = []
    for container in spec.get("containers") or ():
        history = histories.get(container["name"], ())
        if history and not history[-1].running and not restart.wanted(policy, history[-1].exit_code or 0):
            codes.append(history[-1].exit_code or 0)
        else:
            due[container["name"]] = history
    if not due:
        return Steps(outcome="Failed" if any(codes) else "Succeeded")
    sidecars = {c["name"]: histories.get(c["name"], ()) for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    return gather({**sidecars, **due}, now, scale)


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
