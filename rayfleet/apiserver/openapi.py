"""OpenAPI v3, as far as kubectl reads it: that unknown fields are judged by the server, and the schemas for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.registry import Served

_QUERY = ("dryRun", "fieldManager", "fieldValidation")
_PARAMETERS = [{"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for name in _QUERY]


def group_document(served: Sequence[Served]) -> Obj:
    paths: Obj = {}
    schemas: Obj = {}
    for each in served:
        kind = {"group": each.group, "version": each.version, "kind": each.kind.name}
        operation = {"parameters": _PARAMETERS, "responses": {}, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind}
        paths[_path(each)] = {"patch": operation}
        schema = each.kind.openapi.get(each.version) or {"type": "object", "properties": {}}
        name = ".".join([*reversed((each.group or "core").split(".")), each.version, each.kind.name])
        schemas[name] = {**schema, "x-kubernetes-group-version-kind": [kind]}
    info = {"title": "Kubernetes", "version": "v1.34.0"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _path(served: Served) -> str:
    root = f"/apis/{served.api_version}" if served.group else f"/api/{served.version}"
    middle = "/namespaces/{namespace}" if served.kind.namespaced else ""
    return f"{root}{middle}/{served.kind.plural}/{{name}}"
