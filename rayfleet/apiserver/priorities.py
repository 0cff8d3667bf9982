"""PriorityClasses, and the priority that a new Pod gets from them (plugin/pkg/admission/priority)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, forbidden, not_allowed, not_supported

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

CLASSES = "priorityclasses.scheduling.k8s.io"
HIGHEST = 1_000_000_000
"""that users may give"""
PREEMPTION = ("PreemptLowerPriority", "Never")
_PINNED = "Used for system critical pods that must not be moved from their current node."
_NEEDED = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
SYSTEM: dict[str, Obj] = {
    "system-node-critical": {"value": 2 * HIGHEST + 1000, "description": _PINNED},
    "system-cluster-critical": {"value": 2 * HIGHEST, "description": _NEEDED},
}


def default_class(obj: Obj) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def check_class(obj: Obj, old: Obj | None) -> list[Cause]:
    causes = []
    system = SYSTEM.get(obj["metadata"].get("name") or "")
    if not (system and system["value"] == obj.get("value")) and (obj.get("value") or 0) > HIGHEST:
        causes.append(not_allowed("value", f"maximum allowed value of a user defined priority is {HIGHEST}"))
    if old is not None and obj.get("value") != old.get("value"):
        causes.append(not_allowed("value", "may not be changed in an update."))
    if obj["preemptionPolicy"] not in PREEMPTION:
        causes.append(not_supported("preemptionPolicy", obj["preemptionPolicy"], PREEMPTION))
    return causes


def give_priority(api: Api, pod: Obj) -> None:
    """Raises 403."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    chosen = _class_of(api, spec, name)
    value = chosen.get("value") or 0
    if spec.get("priority", value) != value:
        why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
        raise forbidden("", "pods", name, f"{why}priority admission controller computed {value} from the given PriorityClass name")
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy") or "PreemptLowerPriority")


def _class_of(api: Api, spec: Obj, pod: str) -> Obj:
    if wanted := spec.get("priorityClassName"):
        record = api.store.get(CLASSES, "", wanted)
        if record is None:
            raise forbidden("", "pods", pod, f"no PriorityClass with name {wanted} was found")
        return record.decode()
    for record in api.store.select(CLASSES):
        if (found := record.decode()).get("globalDefault"):
            spec["priorityClassName"] = record.name
            return found
    return {}
