"""Statuses as a real kubelet and scheduler write them (Kubernetes 1.33)."""

from __future__ import annotations

from typing import Any

from tests.cli.explain.ward import Obj, Ward, stamp

WAIT, HEAD, WORKER = "wait-gcs-ready", "ray", "ray"


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Obj:
    return {"type": kind, "status": status, "lastTransitionTime": stamp(300), "reason": reason, "message": message}


def container(pod: Obj, name: str, *, ready: bool = False, restarts: int = 0, state: Obj, last: Obj | None = None) -> Obj:
    specs = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    image = next(each["image"] for each in specs if each["name"] == name)
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }


def waiting(reason: str, message: str = "") -> Obj:
    return {"waiting": {"reason": reason, "message": message}}


def running(ago: float = 300.0) -> Obj:
    return {"running": {"startedAt": stamp(ago)}}


def ended(code: int, reason: str = "Error", message: str = "") -> Obj:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, "startedAt": stamp(90), "finishedAt": stamp(30)}}


def write(place: Ward, pod: Obj, *mains: Obj, initial: Obj | None = None, phase: str = "Running") -> None:
    """The status of a Pod on the node, its conditions as they follow from its containers."""
    place.bind(pod)
    ready = all(each["ready"] for each in mains)
    initialised = initial is None or initial["ready"]
    unready = [each["name"] for each in mains if not each["ready"]]
    why = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]") if unready else ("", "")
    first = ("", "") if initialised else ("ContainersNotInitialized", f"containers with incomplete status: [{WAIT}]")
    status: dict[str, Any] = {
        "phase": phase,
        "podIP": "10.0.0.7",
        "podIPs": [{"ip": "10.0.0.7"}],
        "startTime": stamp(300),
        "conditions": [
            condition("PodScheduled", "True"),
            condition("Initialized", str(initialised), *first),
            condition("ContainersReady", str(ready), *why),
            condition("Ready", str(ready), *why),
        ],
        "containerStatuses": list(mains),
    }
    if pod["spec"].get("initContainers"):
        done = container(pod, WAIT, ready=True, state=ended(0, "Completed"))
        status["initContainerStatuses"] = [initial or done]
    place.status(pod, **status)


def well(place: Ward, pod: Obj) -> None:
    write(place, pod, container(pod, HEAD, ready=True, state=running()))


def crash_loop(place: Ward, pod: Obj, log: str, code: int = 1, reason: str = "Error", restarts: int = 4) -> None:
    meta = pod["metadata"]
    words = f"back-off 2m40s restarting failed container={HEAD} pod={meta['name']}_{meta['namespace']}({meta['uid']})"
    state = waiting("CrashLoopBackOff", words)
    write(place, pod, container(pod, HEAD, restarts=restarts, state=state, last=ended(code, reason)))
    note = f"Back-off restarting failed container {HEAD} in pod {meta['name']}_{meta['namespace']}({meta['uid']})"
    place.event(pod, "BackOff", note, count=12)
    place.log(pod, HEAD, log)
    place.log(pod, HEAD, log, previous=True)


def wait_for_head(place: Ward, pod: Obj, log: str) -> None:
    """A worker held back by its init container."""
    initial = container(pod, WAIT, state=running(400))
    write(place, pod, container(pod, WORKER, state=waiting("PodInitializing")), initial=initial, phase="Pending")
    place.log(pod, WAIT, log)


def unschedulable(place: Ward, pod: Obj, message: str) -> None:
    place.status(pod, phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", message)])
    place.event(pod, "FailedScheduling", message, source="default-scheduler", count=7)
