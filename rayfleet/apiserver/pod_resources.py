"""What a container may ask for."""

from __future__ import annotations

from rayfleet.api.quantity import parse
from rayfleet.apiserver.metadata import check_key
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value, required

_OWN = ("cpu", "memory", "ephemeral-storage")
_PAGES = "hugepages-"


def check_resources(resources: Obj, path: str) -> list[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    causes: list[Cause] = []
    for part, given in (("limits", limits), ("requests", requests)):
        for name, text in given.items():
            causes += _check_name(f"{path}.{part}[{name}]", name)
            if parse(text).amount < 0:
                causes.append(invalid_value(f"{path}.{part}[{name}]", text, "must be greater than or equal to 0"))
    for name, text in requests.items():
        if name in limits and parse(text).amount > parse(limits[name]).amount:
            causes.append(invalid_value(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limits[name]}"))
        elif name not in limits and "/" in name and name not in _OWN:
            causes.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    return causes


def _check_name(path: str, name: str) -> list[Cause]:
    """A name without a domain is one of Kubernetes' own (pkg/apis/core/helper IsStandardContainerResourceName)."""
    causes = check_key(path, name)
    if "/" not in name and name not in _OWN and not name.startswith(_PAGES):
        causes.append(invalid_value(path, name, "must be a standard resource for containers"))
    return causes
