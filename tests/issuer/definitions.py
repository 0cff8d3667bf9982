"""CustomResourceDefinitions of cert-manager's names; what stands in a spec is not checked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rayfleet.api.meta import CERTIFICATES, CUSTOMRESOURCEDEFINITIONS, ISSUERS, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.errors import AlreadyExists


def definition(resource: Resource) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    }
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind, "listKind": f"{resource.kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


DEFINITIONS = tuple(map(definition, (ISSUERS, CERTIFICATES)))


async def install(client: Client, definitions: Sequence[dict[str, Any]] = DEFINITIONS) -> None:
    """Returns when the API server serves them; they may be there already."""
    for each in definitions:
        with suppress(AlreadyExists):
            await client.create(CUSTOMRESOURCEDEFINITIONS, each)
    for resource in map(served, definitions):
        while not await client.serves(resource):  # noqa: ASYNC110 (nothing tells when)
            await asyncio.sleep(0.05)


def served(definition: dict[str, Any]) -> Resource:
    spec = definition["spec"]
    return Resource(spec["group"], spec["versions"][0]["name"], spec["names"]["plural"], spec["names"]["kind"])
