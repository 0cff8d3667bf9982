"""Which fields are owned one by one, and which only as a whole.

Source: the markers listType, listMapKey, mapType and structType: of the core kinds in k8s.io/api, of custom kinds in their schema.
https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.strategic import go_text

PORTS = "ports"
KEYS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "podIPs": ("ip",),
    "ownerReferences": ("uid",),
    "addresses": ("type",),
    "secrets": ("name",),
}
KEY_DEFAULTS = {"protocol": "TCP"}
SETS = frozenset({"finalizers", "podCIDRs"})
WHOLE = frozenset(
    {
        "selector",
        "labelSelector",
        "namespaceSelector",
        "podSelector",
        "nodeSelector",
        "scopeSelector",
        "requiredDuringSchedulingIgnoredDuringExecution",
    }
    | {"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef", "claimRef", "dataSource", "targetRef", "roleRef"}
    | {"involvedObject", "regarding", "related", "secretRef"}
)
"""objects that have one owner"""


class Shape(Protocol):
    """What may stand in one place."""

    def whole(self, value: Any) -> bool:
        """Whether this object or list has one owner."""

    def keys(self, items: list[Any]) -> tuple[str, ...]:
        """The members that tell the elements of a list apart; none: it is a set."""

    def member(self, name: str) -> Shape: ...

    def declares(self, name: str) -> bool:
        """Whether the member is a field of a type, and not an entry of a map."""

    @property
    def element(self) -> Shape: ...

    def faults(self, value: Any) -> Iterator[str]:
        """What the value may not be, without what stands below it."""


@dataclass(frozen=True, slots=True)
class CoreShape:
    """Of a core kind, and of the metadata of every kind. Names have one meaning in all of them, but for a few of EndpointSlices."""

    kind: str
    name: str = ""

    def whole(self, value: Any) -> bool:
        if isinstance(value, dict):
            return self.name in WHOLE
        if not isinstance(value, list) or (self.kind in ("EndpointSlice", "Endpoints") and self.name in (PORTS, "addresses")):
            return True
        if self.kind == "ServiceAccount" and self.name == "imagePullSecrets":
            return True
        return self.name not in KEYS and self.name not in SETS and self.name != PORTS

    def keys(self, items: list[Any]) -> tuple[str, ...]:
        if self.name == PORTS:
            first = "containerPort" if any("containerPort" in item for item in items if isinstance(item, dict)) else "port"
            return (first, "protocol")
        return KEYS.get(self.name, ())

    def member(self, name: str) -> CoreShape:
        return CoreShape(self.kind, name)

    def declares(self, name: str) -> bool:
        return True

    @property
    def element(self) -> CoreShape:
        # An owner is owned as a whole, though the list of them is not.
        return CoreShape(self.kind, "claimRef" if self.name == "ownerReferences" else "")

    def faults(self, value: Any) -> Iterator[str]:
        return iter(())


@dataclass(frozen=True)
class CustomShape:
    """Of one place in a custom kind's schema. What the schema leaves open is owned member by member, and lists as a whole."""

    schema: Mapping[str, Any]
    at_root: bool = False

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        return self.schema.get("properties") or {}

    def whole(self, value: Any) -> bool:
        if isinstance(value, dict):
            return self.schema.get("x-kubernetes-map-type") == "atomic"
        return not isinstance(value, list) or self.schema.get("x-kubernetes-list-type", "atomic") == "atomic"

    def keys(self, items: list[Any]) -> tuple[str, ...]:
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())

    def member(self, name: str) -> Shape:
        if self.at_root and name == "metadata":
            return CoreShape("", name)
        child = self.properties.get(name, self.schema.get("additionalProperties"))
        return CustomShape(child if isinstance(child, dict) else {})

    def declares(self, name: str) -> bool:
        return self.at_root or name in self.properties

    @property
    def element(self) -> CustomShape:
        return CustomShape(self.schema.get("items") or {})

    def faults(self, value: Any) -> Iterator[str]:
        kind = self.schema.get("type")
        if isinstance(value, dict) and not self._open:
            names = ("apiVersion", "kind", "metadata") if self.at_root else ()
            yield from (f".{name}: field not declared in schema" for name in value if name not in self.properties and name not in names)
        elif kind in ("integer", "number") and (isinstance(value, bool) or not isinstance(value, int | float | None)):
            yield f": expected numeric (int or float), got {_GO_TYPES.get(type(value), 'unknown')}"
        elif kind in _SCALARS and not isinstance(value, _SCALARS[kind] | None):
            yield f": expected {kind}, got &value.valueUnstructured{{Value:{go_text(value)}}}"

    @property
    def _open(self) -> bool:
        extra = self.schema.get("additionalProperties")
        return bool(self.schema.get("x-kubernetes-preserve-unknown-fields") or extra or not self.schema or not self.properties)


_GO_TYPES = {str: "string", bool: "boolean", dict: "map", list: "list"}
_SCALARS: dict[Any, type] = {"string": str, "boolean": bool}


def shape_of(kind: str, schema: Obj | None) -> Shape:
    """Of a whole object: by the schema of a custom kind, or as a core kind of that name."""
    return CustomShape(schema, at_root=True) if schema is not None else CoreShape(kind)
