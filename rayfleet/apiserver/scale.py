"""The scale subresource of custom kinds: an autoscaling/v1 Scale, made of two or three fields of the object.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, StatusError, bad_request, invalid_value

_API_VERSION, _KIND = "autoscaling/v1", "Scale"
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Scale:
    """Where an object keeps its numbers: JSON paths of names alone, such as `.spec.replicas`. `selector` may be empty."""

    wanted: str
    present: str
    selector: str = ""

    def of(self, obj: Obj, otherwise: int | None = None) -> Obj:
        """`otherwise`: what an object wants that does not say how many. Raises 500 without."""
        wanted = _at(obj, self.wanted)
        wanted = otherwise if wanted is None else wanted
        if wanted is None:
            why = f'the spec replicas field "{self.wanted}" does not exist'
            raise StatusError(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})
        status = {"replicas": _at(obj, self.present) or 0}
        if self.selector and (selector := _at(obj, self.selector)):
            status["selector"] = selector
        meta = {name: obj["metadata"][name] for name in _META if name in obj["metadata"]}
        spec = {"replicas": wanted} if wanted else {}
        return {"kind": _KIND, "apiVersion": _API_VERSION, "metadata": meta, "spec": spec, "status": status}

    def check(self, obj: Obj, old: Obj | None) -> list[Cause]:
        return [cause for path in (self.wanted, self.present) for cause in _count(path, _at(obj, path))]

    def changed(self, obj: Obj, scale: Obj) -> Obj:
        """The object with the number that a Scale wants, under the uid and version that it says. Raises 400."""
        if (scale.get("apiVersion", _API_VERSION), scale.get("kind", _KIND)) != (_API_VERSION, _KIND):
            raise bad_request("no kind is registered for the type of the object: a Scale of autoscaling/v1 is wanted")
        spec, meta = scale.get("spec") or {}, scale.get("metadata") or {}
        replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
        if not isinstance(replicas, int) or isinstance(replicas, bool) or not isinstance(meta, dict):
            raise bad_request("Scale.spec.replicas has to be a number")
        said = {name: meta[name] for name in ("name", "uid", "resourceVersion") if meta.get(name)}
        return {**_with(obj, _names(self.wanted), replicas), "metadata": {**obj["metadata"], **said}}


def scale_of(subresources: Obj) -> Scale | None:
    """Of one version of a definition."""
    if not (paths := subresources.get("scale")):
        return None
    return Scale(paths["specReplicasPath"], paths["statusReplicasPath"], paths.get("labelSelectorPath") or "")


def _names(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _at(obj: Any, path: str) -> Any:
    for name in _names(path):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _with(obj: Any, names: list[str], value: Any) -> Any:
    if not names:
        return value
    inner = obj if isinstance(obj, dict) else {}
    return {**inner, names[0]: _with(inner.get(names[0]), names[1:], value)}


def _count(path: str, value: Any) -> Iterator[Cause]:
    if isinstance(value, int) and value < 0:
        yield invalid_value(path, value, "should be a non-negative integer")
    elif isinstance(value, int) and value > _MOST:
        yield invalid_value(path, value, f"should be less than or equal to {_MOST}")
