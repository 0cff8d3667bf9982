"""What the API server fills into the status of a built-in kind, whoever wrote it: fields that are never absent."""

from __future__ import annotations

from rayfleet.api.quantity import parse
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import malformed

_CONTAINERS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CONTAINER: Obj = {"ready": False, "restartCount": 0, "image": "", "imageID": ""}


def default_pod_status(obj: Obj) -> None:
    status = obj.get("status") or {}
    for condition in status.get("conditions") or ():
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)
    for group in _CONTAINERS:
        for container in status.get(group) or ():
            for name, value in _CONTAINER.items():
                container.setdefault(name, value)
            for name in ("state", "lastState"):
                _default_state(container.setdefault(name, {}))


def _default_state(state: Obj) -> None:
    if "running" in state:
        state["running"].setdefault("startedAt", None)
    if "terminated" in state:
        for name, value in (("exitCode", 0), ("startedAt", None), ("finishedAt", None)):
            state["terminated"].setdefault(name, value)


def default_node_status(obj: Obj) -> None:
    """Raises 400 for a quantity that is none."""
    status = obj.get("status") or {}
    for condition in status.get("conditions") or ():
        condition.setdefault("lastHeartbeatTime", None)
        condition.setdefault("lastTransitionTime", None)
    for name in ("capacity", "allocatable"):
        if status.get(name):
            status[name] = {resource: _quantity(amount) for resource, amount in status[name].items()}
    if status.get("capacity"):
        status.setdefault("allocatable", dict(status["capacity"]))


def default_balancer_status(obj: Obj) -> None:
    """Of a Service."""
    for point in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        if point.get("ip"):
            point.setdefault("ipMode", "VIP")


def _quantity(amount: object) -> str:
    try:
        return str(parse(amount))
    except ValueError as failure:
        raise malformed("Node", "v1", str(failure)) from None
