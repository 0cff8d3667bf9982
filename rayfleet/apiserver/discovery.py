"""Discovery: /api, /apis, the resources of a version; the aggregated form; OpenAPI as far as kubectl asks."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.openapi import group_document
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.registry import Registry, Served

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
SINGLE_VERBS = [verb for verb in VERBS if verb != "deletecollection"]
SUBRESOURCE_VERBS = {
    "status": ["get", "patch", "update"],
    "scale": ["get", "patch", "update"],
    "finalize": ["update"],
    "attach": ["create", "get"],
    "exec": ["create", "get"],
    "portforward": ["create", "get"],
    "log": ["get"],
    "binding": ["create"],
    "eviction": ["create"],
    "token": ["create"],
    "proxy": ["create", "delete", "get", "patch", "update"],
}
SUBRESOURCE_KINDS = {
    "attach": {"kind": "PodAttachOptions"},
    "exec": {"kind": "PodExecOptions"},
    "portforward": {"kind": "PodPortForwardOptions"},
    "binding": {"kind": "Binding"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
}
REVIEW_GROUPS = {
    "authentication.k8s.io": {"tokenreviews": "TokenReview", "selfsubjectreviews": "SelfSubjectReview"},
    "authorization.k8s.io": {"subjectaccessreviews": "SubjectAccessReview", "selfsubjectaccessreviews": "SelfSubjectAccessReview"},
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def page(self, path: str, accept: str) -> web.Response | None:
        """None when the path is no discovery page."""
        match path.strip("/").split("/"):
            case ["api"]:
                if _wants_aggregated(accept):
                    return _aggregated({"": self._groups()[""]}, self._aggregated_group)
                return _page({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
            case ["apis"]:
                named = {group: versions for group, versions in self._groups().items() if group}
                if _wants_aggregated(accept):
                    return _aggregated(named, self._aggregated_group)
                groups = [_group(group, versions) for group, versions in sorted(named.items())]
                return _page({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
            case ["api", version]:
                return self._resources("", version)
            case ["apis", group]:
                versions = self._groups().get(group)
                return _page({"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}) if versions else None
            case ["apis", group, version]:
                return self._resources(group, version)
        return None

    def openapi(self, path: str) -> web.Response | None:
        if path == "/openapi/v3":
            urls = [_base(group, version) for group, versions in self._groups().items() for version in versions]
            return _page({"paths": {url: {"serverRelativeURL": f"/openapi/v3/{url}"} for url in urls}})
        match path.removeprefix("/openapi/v3/").split("/"):
            case ["api", version]:
                return _page(group_document(list(self._registry.within("", version))))
            case ["apis", group, version]:
                return _page(group_document(list(self._registry.within(group, version))))
        return None

    def _groups(self) -> dict[str, list[str]]:
        return self._registry.groups() | {group: ["v1"] for group in REVIEW_GROUPS}

    def _resources(self, group: str, version: str) -> web.Response | None:
        if version not in self._groups().get(group, ()):
            return None
        resources: list[Obj] = [_review(plural, kind) for plural, kind in REVIEW_GROUPS.get(group, {}).items()]
        for served in self._registry.within(group, version):
            resources += _listed(served)
        group_version = f"{group}/{version}" if group else version
        version_of_page = {"apiVersion": "v1"} if group else {}
        return _page({"kind": "APIResourceList", **version_of_page, "groupVersion": group_version, "resources": resources})

    def _aggregated_group(self, group: str, versions: list[str]) -> Obj:
        described = []
        for version in versions:
            resources = [_aggregated_review(group, plural, kind) for plural, kind in REVIEW_GROUPS.get(group, {}).items()]
            resources += [_aggregated_resource(served) for served in self._registry.within(group, version)]
            described.append({"version": version, "resources": resources, "freshness": "Current"})
        return {"metadata": {"name": group} if group else {}, "versions": described}


def _verbs(kind: Kind) -> list[str]:
    return CUSTOM_VERBS if kind.custom else SINGLE_VERBS if kind.resource == "namespaces" else VERBS


def _listed(served: Served) -> list[Obj]:
    kind = served.kind
    resource: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": _verbs(kind),
    }
    if kind.short:
        resource["shortNames"] = list(kind.short)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    found = [resource]
    for name in kind.subresources:
        entry: Obj = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced, "kind": kind.name}
        found.append(entry | SUBRESOURCE_KINDS.get(name, {}) | {"verbs": SUBRESOURCE_VERBS[name]})
    return found


def _aggregated_resource(served: Served) -> Obj:
    kind = served.kind
    response = {"group": served.group, "version": served.version if served.group else "", "kind": kind.name}
    resource: Obj = {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
    }
    if kind.short:
        resource["shortNames"] = list(kind.short)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if kind.subresources:
        resource["subresources"] = [
            {"subresource": name, "responseKind": response | SUBRESOURCE_KINDS.get(name, {}), "verbs": SUBRESOURCE_VERBS[name]}
            for name in kind.subresources
        ]
    return resource


def _review(plural: str, kind: str) -> Obj:
    return {"name": plural, "singularName": kind.lower(), "namespaced": False, "kind": kind, "verbs": ["create"]}


def _aggregated_review(group: str, plural: str, kind: str) -> Obj:
    response = {"group": group, "version": "v1", "kind": kind}
    return {"resource": plural, "responseKind": response, "scope": "Cluster", "singularResource": kind.lower(), "verbs": ["create"]}


def _group(group: str, versions: list[str]) -> Obj:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _aggregated(groups: dict[str, list[str]], describe: Any) -> web.Response:
    items = [describe(group, versions) for group, versions in sorted(groups.items())]
    body = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    return web.Response(body=msgspec.json.encode(body), headers={"Content-Type": AGGREGATED})


def _wants_aggregated(accept: str) -> bool:
    return any("g=apidiscovery.k8s.io" in media and "v=v2" in media.split(";") for media in accept.replace(" ", "").split(","))


def _base(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _page(body: Obj) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")
