"""The Pods of a Job: what they look like, what became of them (k8s.io/kubernetes pkg/controller/job)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from rayfleet.apiserver.record import Obj

TRACKING = "batch.kubernetes.io/job-tracking"
"""holds a Pod until its end has been counted"""
INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"


def made(job: Obj, index: int | None) -> Obj:
    """What to create. `index`: of an Indexed Job."""
    meta, template = job["metadata"], copy.deepcopy(job["spec"]["template"])
    given = template.get("metadata") or {}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    prefix = f"{meta['name']}-" if index is None else f"{meta['name']}-{index}-"
    pod: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": prefix,
            "labels": dict(given.get("labels") or {}),
            "annotations": dict(given.get("annotations") or {}),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            "finalizers": [*(given.get("finalizers") or ()), TRACKING],
        },
        "spec": template["spec"],
    }
    if index is not None:
        _number(pod, f"{meta['name']}-{index}", str(index))
    return pod


def _number(pod: Obj, hostname: str, index: str) -> None:
    pod["metadata"]["labels"][INDEX] = pod["metadata"]["annotations"][INDEX] = index
    pod["spec"].setdefault("hostname", hostname)
    variable = {"name": _VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
    for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]:
        if all(each["name"] != _VARIABLE for each in container.get("env") or ()):
            container["env"] = [*(container.get("env") or ()), variable]


def index_of(pod: Obj) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def is_tracked(pod: Obj) -> bool:
    """Its end has not been counted."""
    return TRACKING in pod["metadata"].get("finalizers", ())


def is_dying(pod: Obj) -> bool:
    """Asked to go, and still there."""
    return "deletionTimestamp" in pod["metadata"] and _phase(pod) not in ("Succeeded", "Failed")


def is_active(pod: Obj) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and _phase(pod) not in ("Succeeded", "Failed")


def is_ready(pod: Obj) -> bool:
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in pod["status"].get("conditions") or ())


def has_succeeded(pod: Obj) -> bool:
    return _phase(pod) == "Succeeded"


def has_failed(pod: Obj, job: Obj) -> bool:
    """One that was deleted has failed as well, unless only the failed are to be replaced."""
    if _phase(pod) == "Failed":
        return True
    return job["spec"].get("podReplacementPolicy") != "Failed" and is_dying(pod)


def _phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def restarts(pod: Obj) -> int:
    """Of its containers in place, which count for a Job of restartPolicy OnFailure."""
    status = pod.get("status") or {}
    return sum(each.get("restartCount", 0) for name in ("initContainerStatuses", "containerStatuses") for each in status.get(name) or ())


@dataclass(frozen=True, slots=True)
class Matched:
    """What a podFailurePolicy says of a failed Pod: FailJob, Ignore, Count; "" where it says nothing."""

    action: str = ""
    message: str = ""


def matched(job: Obj, pod: Obj) -> Matched:
    for index, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        why = _by_exit_code(rule, pod) if rule.get("onExitCodes") else _by_condition(rule, pod)
        if why:
            return Matched(rule["action"], f"{why} matching {rule['action']} rule at index {index}")
    return Matched()


def _by_exit_code(rule: Obj, pod: Obj) -> str:
    wanted, status = rule["onExitCodes"], pod.get("status") or {}
    for each in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
        code = ((each.get("state") or {}).get("terminated") or {}).get("exitCode", 0)
        if not code or wanted.get("containerName") not in (None, each["name"]):
            continue
        if (code in wanted["values"]) == (wanted["operator"] == "In"):
            return f"Container {each['name']} for pod {_name(pod)} failed with exit code {code}"
    return ""


def _by_condition(rule: Obj, pod: Obj) -> str:
    present = {(each.get("type"), each.get("status")) for each in (pod.get("status") or {}).get("conditions") or ()}
    for wanted in rule.get("onPodConditions") or ():
        if (wanted["type"], wanted.get("status", "True")) in present:
            return f"Pod {_name(pod)} has condition {wanted['type']}"
    return ""


def _name(pod: Obj) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
