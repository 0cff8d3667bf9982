"""Custom resources: from a CustomResourceDefinition to a served kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayfleet.apiserver import definition_names, metadata
from rayfleet.apiserver.columns import TABLES
from rayfleet.apiserver.custom_columns import printer_table
from rayfleet.apiserver.definition_names import DEFINITIONS
from rayfleet.apiserver.definition_rules import check_definition
from rayfleet.apiserver.json_path import JsonPath
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.scale import scale_of
from rayfleet.apiserver.schema import StructuralSchema
from rayfleet.apiserver.schema_keywords import prune_schemas
from rayfleet.apiserver.shapes import DEFINITION

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""holds a definition until its objects are gone"""


def is_served(definition: Obj) -> bool:
    return definition_names.is_established(definition.get("status") or {})


def kind_of(definition: Obj) -> Kind:
    """What a definition serves."""
    spec = definition["spec"]
    names, versions = spec["names"], [version for version in spec["versions"] if version.get("served")]
    stored = _stored(spec)
    parts = stored.get("subresources") or {}
    scale = scale_of(parts)
    return Kind(
        spec["group"],
        stored["name"],
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        short=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        singular=names["singular"],
        versions=tuple(version["name"] for version in versions),
        subresources=tuple(name for name in ("status", "scale") if name in parts),
        scale=scale,
        check=scale.check if scale else lambda obj, old: [],
        counts_generations=True,
        custom=True,
        known_fields=frozenset(selectable := _selectable(spec)),
        fields=lambda obj: {name: _text(path.find(obj)) for name, path in selectable.items()},
        schemas={version["name"]: StructuralSchema(_schema(version)) for version in spec["versions"]},
        tables={version["name"]: printer_table(version.get("additionalPrinterColumns")) for version in versions},
        openapi={version["name"]: _schema(version) for version in versions},
        deprecated=_deprecations(spec),
    )


def _selectable(spec: Obj) -> dict[str, JsonPath]:
    """What field selectors may ask for, by its name in them."""
    paths = {field["jsonPath"] for version in spec["versions"] for field in version.get("selectableFields") or ()}
    return {path.lstrip("."): JsonPath(path) for path in sorted(paths)}


def _text(found: list[Any]) -> str:
    if not found:
        return ""
    return str(found[0]).lower() if isinstance(found[0], bool) else str(found[0])


def definition_kind() -> Kind:
    return Kind(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short=("crd", "crds"),
        categories=("api-extensions",),
        singular="customresourcedefinition",
        subresources=("status",),
        counts_generations=True,
        tables={"": TABLES[DEFINITIONS]},
        shape=_pruned,
        default=_default,
        check=check_definition,
        admit=_establish,
    )


def _pruned(definition: Obj) -> list[str]:
    unknown = DEFINITION.prune(definition)
    return prune_schemas(definition) + unknown


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def _establish(api: Api, obj: Obj, old: Obj | None) -> None:
    """A definition is served from the moment it is stored, so it says so at once."""
    status = {**(obj.get("status") or {})}
    status["conditions"] = [*(status.get("conditions") or ())]
    definition_names.accept(api, obj, status)
    stored, known = _stored(obj["spec"])["name"], status.get("storedVersions") or []
    status["storedVersions"] = known if stored in known else [*known, stored]
    obj["status"] = status


def begin_end(definition: Obj, now: float) -> None:
    """It is to go: it waits for its objects, and says so."""
    meta, status = definition["metadata"], definition.setdefault("status", {})
    meta["finalizers"] = [*(name for name in meta.get("finalizers", ()) if name != CLEANUP), CLEANUP]
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "message": text}
    status["conditions"] = [*(status.get("conditions") or ()), {**pending, "lastTransitionTime": metadata.timestamp(now)}]


def accept_names(api: Api, record: Record) -> None:
    """Again, of a definition that had to wait for names that another one had."""
    obj = record.decode()
    if definition_names.is_named(obj.get("status") or {}) or "deletionTimestamp" in obj["metadata"]:
        return
    _establish(api, obj, None)
    if obj != record.decode():
        obj["metadata"] = metadata.tidied(obj["metadata"])
        api.store.put(record.resource, record.namespace, record.name, obj)


def _stored(spec: Obj) -> Obj:
    version: Obj = next(version for version in spec["versions"] if version.get("storage"))
    return version


def _schema(version: Obj) -> Obj:
    schema: Obj = version["schema"]["openAPIV3Schema"]
    return schema


def _deprecations(spec: Obj) -> dict[str, str]:
    """As a real API server words it."""
    found = {}
    for version in spec["versions"]:
        if version.get("deprecated"):
            default = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
            better = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
            if better:
                default += f"; use {spec['group']}/{better[0]} {spec['names']['kind']}"
            found[version["name"]] = version.get("deprecationWarning") or default
    return found
