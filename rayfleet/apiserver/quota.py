"""Resource quotas: the number of Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import forbidden

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

COUNTED = ("pods", "count/pods")


def admit_pod(api: Api, obj: Obj, old: Obj | None) -> None:
    """Raises 403 when a new Pod would exceed a quota of its namespace."""
    namespace = obj["metadata"].get("namespace", "")
    if old is not None or not api.store.count("resourcequotas", namespace):
        return
    used = pods_in_use(api, namespace)
    for record in api.store.select("resourcequotas", namespace):
        hard = record.decode().get("spec", {}).get("hard") or {}
        for name in COUNTED:
            if name in hard and used + 1 > int(hard[name]):
                why = f"exceeded quota: {record.name}, requested: {name}=1, used: {name}={used}, limited: {name}={hard[name]}"
                raise forbidden("", "pods", obj["metadata"]["name"], why)


def admit_quota(api: Api, obj: Obj, old: Obj | None) -> None:
    """Shows at once what is in use; the count is not kept up to date in between."""
    hard = (obj.get("spec") or {}).get("hard") or {}
    used = pods_in_use(api, obj["metadata"]["namespace"])
    obj["status"] = {"hard": hard, "used": {name: str(used) for name in COUNTED if name in hard}}


def pods_in_use(api: Api, namespace: str) -> int:
    return sum(record.fields.get("status.phase") not in ("Succeeded", "Failed") for record in api.store.select("pods", namespace))
