"""Which resource is meant: by a word on the command line, or by an object's apiVersion and kind. The API server is asked what it serves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rayfleet.api.meta import OLD_RAYCLUSTERS, Resource
from rayfleet.cli.failure import Failure
from rayfleet.kube.client import Client
from rayfleet.kube.errors import NotFound


@dataclass(frozen=True)
class Served:
    """One resource that the API server serves, and the words for it."""

    resource: Resource
    words: frozenset[str]


class Kinds:
    """What one API server serves, asked for once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._versions: dict[str, list[Served]] = {}
        self._groups: list[str] | None = None

    async def of_word(self, word: str) -> Resource:
        """`pods`, `pod`, `po`, `Pod` or `rayclusters.ray.io`. Raises Failure with the nearest word that exists."""
        served = [each for group in await self._group_versions() for each in await self._of_version(group)]
        plain = word.lower()
        if meant := [each.resource for each in served if plain in each.words]:
            return min(meant, key=lambda each: each.group == OLD_RAYCLUSTERS.group)  # only by its full name
        near = get_close_matches(plain, sorted({each.resource.plural for each in served}), n=1)
        raise Failure(f"the API server has no resource {word!r}" + (f"; did you mean {near[0]}?" if near else ""))

    async def has(self, word: str) -> bool:
        try:
            await self.of_word(word)
        except Failure:
            return False
        return True

    async def of_object(self, api_version: str, kind: str) -> Resource:
        """Raises Failure when that kind is not served."""
        for each in await self._of_version(api_version):
            if each.resource.kind == kind:
                return each.resource
        self._versions.pop(api_version, None)  # it may be served later: its CRD may stand in the same file
        raise Failure(f"the API server has no kind {kind} of {api_version}; is its CustomResourceDefinition there? (rayfleet crds)")

    async def _group_versions(self) -> list[str]:
        if self._groups is None:
            found = json.loads(await self._client.request("GET", "/apis"))
            versions = [group["preferredVersion"]["groupVersion"] for group in found.get("groups") or ()]
            self._groups = ["v1", *versions]
        return self._groups

    async def _of_version(self, api_version: str) -> list[Served]:
        if api_version not in self._versions:
            try:
                path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
                found = json.loads(await self._client.request("GET", path))
            except NotFound:
                return []
            entries = (entry for entry in found.get("resources") or () if "/" not in entry["name"])
            self._versions[api_version] = [served(api_version, entry) for entry in entries]
        return self._versions[api_version]


def served(api_version: str, entry: dict[str, Any]) -> Served:
    """An entry of an APIResourceList."""
    group, _, version = api_version.rpartition("/")
    resource = Resource(group, version, entry["name"], entry["kind"], bool(entry["namespaced"]))
    names = {resource.plural, entry.get("singularName") or resource.kind.lower(), resource.kind.lower(), *(entry.get("shortNames") or ())}
    return Served(resource, frozenset(names | {f"{name}.{group}" for name in names if group}))


def qualified(resource: Resource) -> str:
    """How kubectl names the kind in its messages: `raycluster.ray.io`, `pod`."""
    return f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
