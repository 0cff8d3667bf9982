"""What a CustomResourceDefinition must satisfy (apiextensions-apiserver pkg/apis/apiextensions/validation)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.metadata import check_name
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.schema import fault
from rayfleet.apiserver.schema_types import check_types
from rayfleet.apiserver.status_error import Cause, invalid_value, not_supported, required
from rayfleet.apiserver.structural import check_schema

_SCOPES, _STRATEGIES = ("Cluster", "Namespaced"), ("None", "Webhook")
_COLUMNS = ("boolean", "date", "integer", "number", "string")
_STORED, _ONE = "status.storedVersions", "must have exactly one version marked as storage version"


def check_definition(obj: Obj, old: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    causes = _check_place(obj, spec, names)
    causes += list(_check_versions(versions))
    causes += list(_check_names(names))
    strategy = (spec.get("conversion") or {}).get("strategy")
    if strategy not in _STRATEGIES:
        causes.append(not_supported("spec.conversion.strategy", strategy, _STRATEGIES))
    elif strategy == "Webhook":
        # Nothing here calls webhooks.
        causes.append(not_supported("spec.conversion.strategy", strategy, ("None",)))
    causes += _check_stored(versions, old)
    if old is None or spec != old["spec"]:
        causes += _check_parts(versions)
    return causes


def _check_place(obj: Obj, spec: Obj, names: Obj) -> list[Cause]:
    causes = []
    name, group = obj["metadata"].get("name"), spec.get("group") or ""
    if name != f"{names.get('plural') or ''}.{group}":
        causes.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    if not group:
        causes.append(required("spec.group"))
    elif "." not in group:
        causes.append(invalid_value("spec.group", group, "should be a domain with at least one dot"))
    else:
        causes += check_name("spec.group", group, "subdomain")
    if not spec.get("scope"):
        causes.append(required("spec.scope"))
    elif spec["scope"] not in _SCOPES:
        causes.append(not_supported("spec.scope", spec["scope"], _SCOPES))
    return causes


def _check_versions(versions: list[Obj]) -> Iterator[Cause]:
    for index, version in enumerate(versions):
        yield from check_name(f"spec.versions[{index}].name", version.get("name") or "", "service")
    numbers = [version.get("name") for version in versions]
    if len(set(numbers)) < len(numbers):
        yield invalid_value("spec.versions", [_shown(version) for version in versions], "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid_value("spec.versions", [_shown(version) for version in versions], _ONE)


def _check_names(names: Obj) -> Iterator[Cause]:
    yield from check_name("spec.names.plural", names.get("plural") or "", "service")
    yield from check_name("spec.names.singular", names.get("singular") or "", "service")
    for name in ("kind", "listKind"):
        for cause in check_name(f"spec.names.{name}", str(names.get(name) or "").lower(), "service"):
            if names.get(name):
                why = "may have mixed case, but should otherwise match: " + cause.message.split(": ", 2)[2]
                yield invalid_value(cause.field, names[name], why)
            else:
                yield cause
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid_value("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for group in ("shortNames", "categories"):
        for index, name in enumerate(names.get(group) or ()):
            yield from check_name(f"spec.names.{group}[{index}]", name, "service")


def _check_stored(versions: list[Obj], old: Obj | None) -> list[Cause]:
    """Versions in which objects may still be stored have to stay."""
    marked = [version.get("name") for version in versions if version.get("storage")]
    if old is None:
        if not marked:
            return [invalid_value(_STORED, None, "must have at least one stored version")]
        return [] if len(marked) == 1 else [invalid_value(_STORED, marked[:1], f"must have the storage version {marked[-1]}")]
    present = {version.get("name") for version in versions}
    known = (old.get("status") or {}).get("storedVersions") or ()
    return [invalid_value(f"{_STORED}[{index}]", name, _missing(name)) for index, name in enumerate(known) if name not in present]


def _missing(version: str) -> str:
    until = f"a storage migration ensures no data remains persisted in {version} and removes {version} from status.storedVersions"
    return f"missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions until {until}"


def _check_parts(versions: list[Obj]) -> list[Cause]:
    """Schemas, columns and subresources. What all versions share is judged once, and named as in the API before version 1."""
    causes: list[Cause] = []
    shared = {name: all(version.get(name) == versions[0].get(name) for version in versions) for name in ("schema", *_PARTS)}
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        check_types(schema)
        if not isinstance(schema, dict):
            causes.append(required(f"{path}.schema.openAPIV3Schema"))
        elif index == 0 or not shared["schema"]:
            causes += _check_one(schema, "spec.validation.openAPIV3Schema" if shared["schema"] else f"{path}.schema.openAPIV3Schema")
        for name, check in _PARTS.items():
            if version.get(name) and (index == 0 or not shared[name]):
                causes += check(version[name], f"spec.{name}" if shared[name] else f"{path}.{name}")
    return causes


def _check_one(schema: Obj, path: str) -> list[Cause]:
    causes = check_schema(schema, path)
    if not causes and (wrong := fault(schema)):
        causes.append(invalid_value(path, "", wrong))
    return causes


def _check_columns(columns: list[Obj], path: str) -> Iterator[Cause]:
    for index, column in enumerate(columns):
        if not column.get("name"):
            yield required(f"{path}[{index}].name")
        if column.get("type") not in _COLUMNS:
            yield invalid_value(f"{path}[{index}].type", column.get("type") or "", f"must be one of {','.join(_COLUMNS)}")
        if not str(column.get("jsonPath") or "").startswith("."):
            yield invalid_value(f"{path}[{index}].JSONPath", column.get("jsonPath") or "", "must be a simple json path starting with .")


def _check_subresources(subresources: Obj, path: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    for name in ("specReplicasPath", "statusReplicasPath") if scale is not None else ():
        if not scale.get(name):
            yield required(f"{path}.scale.{name}")


def _check_selectable(fields: list[Obj], path: str) -> Iterator[Cause]:
    for index, field in enumerate(fields):
        text = field.get("jsonPath") or ""
        wrong = "array notation is not allowed" if "[" in text else "" if text.strip(".") else "unexpected end of JSON path"
        if wrong:
            yield invalid_value(f"{path}[{index}].jsonPath", text, f"is an invalid path: {wrong}")


_PARTS: dict[str, Any] = {
    "selectableFields": _check_selectable,
    "subresources": _check_subresources,
    "additionalPrinterColumns": _check_columns,
}


def _shown(version: Obj) -> Obj:
    """Kubernetes shows its own structure; schema, subresources and columns only where versions differ in them."""
    return {
        "Name": version.get("name") or "",
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }
