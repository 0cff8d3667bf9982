"""What the API is told about a Pod: phase, conditions, containers. Pure; the same facts give the same status, or nothing is written.

Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rayfleet.kubelet.attempt import Attempt, History

OWN_KEYS = ("observedGeneration", "phase", "conditions", "hostIP", "hostIPs", "podIP", "podIPs", "startTime", "initContainerStatuses",
            "containerStatuses", "qosClass", "reason", "message")  # fmt: skip
Verdict = tuple[bool, str, str]  # whether it holds, reason, message
OWN_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


@dataclass(frozen=True, slots=True)
class Observed:
    """What the kubelet knows about a Pod. `waiting`: container -> (reason, message) of why it does not run."""

    spec: Mapping[str, Any]
    old: Mapping[str, Any]  # the status as it is: transition times and others' conditions are kept
    histories: Mapping[str, History]
    waiting: Mapping[str, tuple[str, str]]
    started: frozenset[str]
    ready: frozenset[str]
    outcome: str  # "Succeeded" or "Failed" when nothing will run again
    pod_ip: str
    host_ip: str
    now: float
    failure: tuple[str, str] = field(default=("", ""))  # (reason, message) of the whole Pod
    last_words: Mapping[str, str] = field(default_factory=dict)  # what each life that has ended left, by its uid
    sandbox: bool = True  # whether the Pod's namespaces and its network are there
    generation: int = 0  # of the Pod's metadata; 0 where the API counts none


def time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(seen: Observed) -> dict[str, Any]:
    """The fields of the status that are the kubelet's."""
    inits, mains = seen.spec.get("initContainers") or (), seen.spec.get("containers") or ()
    status: dict[str, Any] = {
        **({"observedGeneration": seen.generation} if seen.generation else {}),
        "phase": phase(seen),
        "conditions": conditions(seen),
        "hostIP": seen.host_ip,
        "hostIPs": [{"ip": seen.host_ip}],
        "startTime": seen.old.get("startTime") or time_text(seen.now),
        "containerStatuses": [container_status(container, seen) for container in mains],
        "qosClass": seen.old.get("qosClass") or quality([*inits, *mains]),
    }
    if seen.pod_ip:
        status |= {"podIP": seen.pod_ip, "podIPs": [{"ip": seen.pod_ip}]}
    if inits:
        status["initContainerStatuses"] = [container_status(container, seen) for container in inits]
    if seen.failure[0]:
        status |= {"reason": seen.failure[0], "message": seen.failure[1]}
    return status


def phase(seen: Observed) -> str:
    if seen.outcome:
        return seen.outcome
    if initialized(seen) and any(seen.histories.get(container["name"]) for container in seen.spec.get("containers") or ()):
        return "Running"
    return "Pending"


def initialized(seen: Observed) -> bool:
    return all(passed(container, seen) for container in seen.spec.get("initContainers") or ())


def passed(container: Mapping[str, Any], seen: Observed) -> bool:
    """Whether an init container lets those after it start."""
    history = seen.histories.get(container["name"], ())
    if container.get("restartPolicy") == "Always":
        return container["name"] in seen.started
    return bool(history) and history[-1].exit_code == 0


def conditions(seen: Observed) -> list[dict[str, Any]]:
    sidecars = [one for one in seen.spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    names = [container["name"] for container in (*sidecars, *(seen.spec.get("containers") or ()))]
    unready = [name for name in names if name not in seen.ready]
    sentence = f"containers with unready status: [{' '.join(unready)}]"
    finished = "PodCompleted" if seen.outcome == "Succeeded" else "PodFailed" if seen.outcome == "Failed" else "ContainersNotReady"
    about_ready = (False, finished, "" if seen.outcome else sentence) if unready or seen.outcome else (True, "", "")
    gates = unmet_gates(seen)
    overall = about_ready if not about_ready[0] or not gates else (False, "ReadinessGatesNotReady", gates)
    judged = dict(zip(OWN_CONDITIONS, (about_sandbox(seen), about_init(seen), overall, about_ready, (True, "", "")), strict=True))
    foreign = [dict(one) for one in seen.old.get("conditions") or () if one.get("type") not in OWN_CONDITIONS]
    return foreign + [condition(kind, verdict, seen) for kind, verdict in judged.items()]


def about_sandbox(seen: Observed) -> Verdict:
    missing = "pod sandbox is not ready" if any(seen.histories.values()) else "no pod sandbox exists"
    return (True, "", "") if seen.sandbox else (False, "PodSandboxNotReady", missing)


def about_init(seen: Observed) -> Verdict:
    if seen.outcome == "Succeeded":
        return True, "PodCompleted", ""
    pending = [container["name"] for container in seen.spec.get("initContainers") or () if not passed(container, seen)]
    begun = any(seen.histories.get(container["name"]) for container in seen.spec.get("containers") or ())
    if pending and not begun:
        return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(pending)}]"
    return True, "", ""


def unmet_gates(seen: Observed) -> str:
    held = {one.get("type"): one.get("status") for one in seen.old.get("conditions") or ()}
    gates = [gate["conditionType"] for gate in seen.spec.get("readinessGates") or ()]
    return ", ".join(unmet(gate, held.get(gate)) for gate in gates if held.get(gate) != "True")


def unmet(gate: str, status: str | None) -> str:
    if status is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    return f'the status of pod readiness gate "{gate}" is not "True", but {status}'


def condition(kind: str, verdict: Verdict, seen: Observed) -> dict[str, Any]:
    holds, reason, message = verdict
    new: dict[str, Any] = {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None}  # the API keeps the null
    before: Mapping[str, Any] = next((one for one in seen.old.get("conditions") or () if one.get("type") == kind), {})
    same = before.get("status") == new["status"] and before.get("lastTransitionTime")
    new["lastTransitionTime"] = before["lastTransitionTime"] if same else time_text(seen.now)
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    if seen.generation:
        new["observedGeneration"] = seen.generation
    return new


def container_status(container: Mapping[str, Any], seen: Observed) -> dict[str, Any]:
    name = container["name"]
    history = seen.histories.get(name, ())
    image = container.get("image") or ""
    status: dict[str, Any] = {
        "name": name,
        "image": image,
        "imageID": "",
        "ready": name in seen.ready or has_prepared(container, history),
        "started": name in seen.started,
        "restartCount": history[-1].attempt if history else 0,
        "state": current_state(name, history, seen),
        "lastState": {},
    }
    if history:
        status["containerID"] = container_id(history[-1])
    before = history[-1] if "waiting" in status["state"] and history else history[-2] if len(history) > 1 else None
    if before is not None:
        status["lastState"] = {"terminated": terminated(before, seen)}
    return status


def has_prepared(container: Mapping[str, Any], history: History) -> bool:
    """Of an init container; a sidecar that has ended is not ready, however it ended."""
    return bool(history and history[-1].init and history[-1].exit_code == 0 and container.get("restartPolicy") != "Always")


def current_state(name: str, history: History, seen: Observed) -> dict[str, Any]:
    if history and history[-1].running:
        return {"running": {"startedAt": time_text(history[-1].started_at)}}
    if name in seen.waiting and not seen.outcome:
        reason, message = seen.waiting[name]
        return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}
    if history:
        return {"terminated": terminated(history[-1], seen)}
    return {"waiting": {"reason": "ContainerCreating" if initialized(seen) else "PodInitializing"}}


def container_id(attempt: Attempt) -> str:
    return f"rayfleet://{attempt.uid}"


def terminated(attempt: Attempt, seen: Observed) -> dict[str, Any]:
    reason = "StartError" if attempt.error and attempt.exit_code == 128 else "Completed" if attempt.exit_code == 0 else "Error"
    if attempt.error and attempt.exit_code != 128:
        reason = "ContainerStatusUnknown"
    if attempt.oom_killed and attempt.exit_code:
        reason = "OOMKilled"
    state: dict[str, Any] = {
        "exitCode": attempt.exit_code or 0,
        "reason": reason,
        "startedAt": time_text(attempt.started_at),
        "finishedAt": time_text(attempt.finished_at or attempt.started_at),
        "containerID": container_id(attempt),
    }
    if attempt.signal:
        state["signal"] = attempt.signal
    if message := attempt.error or seen.last_words.get(attempt.uid, ""):
        state["message"] = message
    return state


def quality(containers: Sequence[Mapping[str, Any]]) -> str:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"""
    amounts = [container.get("resources") or {} for container in containers]
    if not any(one.get("limits") or one.get("requests") for one in amounts):
        return "BestEffort"
    for one in amounts:
        limits, requests = one.get("limits") or {}, one.get("requests") or one.get("limits") or {}
        if any(name not in limits or requests.get(name, limits[name]) != limits[name] for name in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch of the status that makes the kubelet's fields so; empty when they are."""
    return {key: new.get(key) for key in OWN_KEYS if old.get(key) != new.get(key)}


def seconds_of(text: str) -> float:
    """Seconds since 1970 of a time in RFC 3339."""
    return datetime.fromisoformat(text).timestamp()
