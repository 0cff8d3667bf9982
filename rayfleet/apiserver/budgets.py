"""PodDisruptionBudgets: how many Pods may be evicted now (pkg/controller/disruption, pkg/registry/core/pod/storage/eviction.go)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rayfleet.apiserver import metadata
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.status_error import Cause, StatusError, invalid_value
from rayfleet.planning.selection import selects

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

BUDGETS = "poddisruptionbudgets.policy"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def begin_budget(obj: Obj) -> None:
    obj["status"] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def check_budget(obj: Obj, old: Obj | None) -> list[Cause]:
    spec = obj.get("spec") or {}
    causes = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = {"MinAvailable": spec["minAvailable"], "Selector": spec.get("selector"), "MaxUnavailable": spec["maxUnavailable"]}
        shown |= {"UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy")}
        causes.append(invalid_value("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            causes.append(invalid_value(f"spec.{name}", value, "must be greater than or equal to 0"))
        elif isinstance(value, str) and not (value.endswith("%") and value[:-1].isdecimal()):
            why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            causes.append(invalid_value(f"spec.{name}", value, why + "regex used for validation is '[0-9]+%')"))
    return causes


def sync(api: Api, record: Record) -> None:
    """Shows what is allowed now, if that is something else."""
    obj = record.decode()
    status = _status(api, obj)
    if status != {**(obj.get("status") or {}), "conditions": status["conditions"]} or not _told(obj, status):
        api.store.put(record.resource, record.namespace, record.name, {**obj, "status": status})


def _told(obj: Obj, status: Obj) -> bool:
    known = ((obj.get("status") or {}).get("conditions") or [{}])[0]
    return {**known, "lastTransitionTime": ""} == {**status["conditions"][0], "lastTransitionTime": ""}


def _status(api: Api, obj: Obj) -> Obj:
    spec = obj.get("spec") or {}
    pods = [
        record.decode() for record in api.store.select("pods", obj["metadata"]["namespace"]) if selects(spec.get("selector"), record.labels)
    ]
    alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    healthy = sum(_ready(pod) for pod in alive)
    wanted = _wanted(spec, len(alive))
    allowed = max(0, healthy - wanted) if alive else 0
    generation = obj["metadata"].get("generation", 1)
    condition: Obj = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": generation,
        "lastTransitionTime": metadata.timestamp(api.clock()),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    counts = {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": wanted, "expectedPods": len(alive)}
    return {"observedGeneration": generation, **counts, "conditions": [condition]}


def _wanted(spec: Obj, pods: int) -> int:
    if "maxUnavailable" in spec:
        return max(0, pods - _share(spec["maxUnavailable"], pods))
    return _share(spec.get("minAvailable", 1), pods)


def _share(amount: Any, of: int) -> int:
    return math.ceil(int(amount[:-1]) * of / 100) if isinstance(amount, str) else int(amount)


def _ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    dying = "deletionTimestamp" in pod["metadata"]
    return not dying and any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def allow_eviction(api: Api, record: Record) -> None:
    """Raises 429: a budget forbids it; 500: two budgets are meant for one Pod."""
    pod = record.decode()
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]:
        return
    found = [
        each
        for each in api.store.select(BUDGETS, record.namespace)
        if selects((each.decode().get("spec") or {}).get("selector"), record.labels)
    ]
    if len(found) > 1:
        text = "Internal error occurred: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, "InternalError", text)
    for each in found:
        obj = each.decode()
        status = _status(api, obj)
        unhealthy = not _ready(pod)
        policy = (obj.get("spec") or {}).get("unhealthyPodEvictionPolicy") or "IfHealthyBudget"
        if unhealthy and (policy == "AlwaysAllow" or status["currentHealthy"] >= status["desiredHealthy"] > 0):
            return
        if not status["disruptionsAllowed"]:
            why = f"needs {status['desiredHealthy']} healthy pods and has {status['currentHealthy']} currently"
            why = f"The disruption budget {each.name} {why}"
            raise StatusError(429, "TooManyRequests", _REFUSED, {"causes": [{"reason": "DisruptionBudget", "message": why}]})
