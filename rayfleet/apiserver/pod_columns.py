"""The Pod's line in `kubectl get pods` (k8s.io/kubernetes pkg/printers/internalversion, printPod)."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver.kind import Column, Table
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.table import AGE, NAME, age

COLUMNS = (
    NAME,
    Column("Ready"),
    Column("Status"),
    Column("Restarts"),
    AGE,
    Column("IP", priority=1),
    Column("Node", priority=1),
    Column("Nominated Node", priority=1),
    Column("Readiness Gates", priority=1),
)


def _cells(obj: Obj, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    statuses = status.get("containerStatuses") or []
    ready = sum(bool(each.get("ready")) for each in statuses)
    return [
        obj["metadata"]["name"],
        f"{ready}/{len(spec['containers'])}",
        pod_status(obj),
        _restarts(statuses, now),
        age(obj["metadata"].get("creationTimestamp"), now),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        "<none>",
    ]


def pod_status(obj: Obj) -> str:
    """The one word that says how a Pod is."""
    status = obj.get("status") or {}
    word = status.get("reason") or status.get("phase") or "Unknown"
    word = _initializing(obj["spec"], status) or _container_word(status.get("containerStatuses") or [], word, status)
    if "deletionTimestamp" in obj["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(word)


def _initializing(spec: Obj, status: Obj) -> str:
    names = spec.get("initContainers") or []
    for index, each in enumerate(status.get("initContainerStatuses") or []):
        state = each.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated and terminated.get("exitCode") == 0:
            continue
        if terminated:
            return "Init:" + _end_word(terminated)
        if waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(names)}"
    return ""


def _container_word(statuses: list[Obj], word: str, status: Obj) -> str:
    running = False
    for each in reversed(statuses):
        state = each.get("state") or {}
        if (state.get("waiting") or {}).get("reason"):
            word = state["waiting"]["reason"]
        elif state.get("terminated"):
            word = _end_word(state["terminated"])
        elif each.get("ready") and "running" in state:
            running = True
    if word == "Completed" and running:
        conditions = status.get("conditions") or []
        is_ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
        return "Running" if is_ready else "NotReady"
    return word


def _end_word(terminated: Obj) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode')}"


def _restarts(statuses: list[Obj], now: float) -> str:
    count = sum(each.get("restartCount") or 0 for each in statuses)
    ends = [((each.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for each in statuses]
    last = max((end for end in ends if end), default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


PODS = Table(COLUMNS, _cells)
