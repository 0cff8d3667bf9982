"""Asks an API server what `rayfleet doctor --cluster` judges. Creates nothing but reviews, which no server keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS, LEASES, Resource
from rayfleet.cli.checkup import ADD_ONS, NEEDS, Facts, kinds_needed
from rayfleet.cli.rights import ELECTION, LEASE, RIVALS, Right
from rayfleet.controllers import kinds_of
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Forbidden, NotFound

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
ACCOUNT = "system:serviceaccount:"


async def read_facts(client: Client, user: str | None, namespace: str | None, home: str) -> Facts:
    """Of the rights of `user`, None for whoever asks; in `namespace`, None for all. The operator's own namespace is `home`.

    Raises ApiError when the server does not answer at all.
    """
    version = json.loads(await client.request("GET", "/version"))
    names = [definition["metadata"]["name"] for definition in crds()]
    versions = sorted({"ray.io/v1", *(version for version, _ in kinds_needed()), *(add_on.version for add_on in ADD_ONS)})
    asked = [(right, verb) for need in NEEDS for right in need.rights for verb in right.verbs]
    served, definitions, allowed, leases, yunikorn = await asyncio.gather(
        asyncio.gather(*(resources_of(client, each) for each in versions)),
        asyncio.gather(*(definition_of(client, name) for name in names)),
        asyncio.gather(*(is_allowed(client, user, right, verb, place_of(right, namespace, home)) for right, verb in asked)),
        leases_of(client, namespace),
        runs_yunikorn(client),
    )
    return Facts(
        version=version,
        served=dict(zip(versions, served, strict=True)),
        definitions=dict(zip(names, definitions, strict=True)),
        allowed=dict(zip(asked, allowed, strict=True)),
        leases=leases,
        yunikorn=yunikorn,
        reconciled=frozenset(kind.resource.kind for kind in kinds_of(Configuration())),
    )


def place_of(right: Right, namespace: str | None, home: str) -> str | None:
    """Where a right is needed; None for everywhere."""
    if right in ELECTION:
        return home
    return None if right in RIVALS else namespace


async def resources_of(client: Client, version: str) -> frozenset[str]:
    """Those of one group and version; empty when it is not served, or broken."""
    try:
        found = json.loads(await client.request("GET", f"/apis/{version}" if "/" in version else f"/api/{version}"))
    except ApiError:
        return frozenset()
    return frozenset(entry["name"] for entry in found.get("resources") or ())


async def definition_of(client: Client, name: str) -> Mapping[str, Any] | str | None:
    try:
        found: dict[str, Any] = await client.get(CUSTOMRESOURCEDEFINITIONS, name)
    except NotFound:
        return None
    except ApiError as error:
        return str(error)
    return found


async def is_allowed(client: Client, user: str | None, right: Right, verb: str, namespace: str | None) -> bool | None:
    """None when the server does not say, or when others' rights may not be asked for."""
    resource, _, subresource = right.resource.partition("/")
    attributes = {"group": right.group, "resource": resource, "verb": verb}
    attributes |= {name: value for name, value in (("namespace", namespace), ("subresource", subresource)) if value}
    attributes |= {"name": right.names[0]} if right.names else {}
    kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
    spec = {"resourceAttributes": attributes} | ({"user": user, "groups": groups_of(user)} if user else {})
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    try:
        answer = json.loads(await client.request("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body=body))
    except ApiError:
        return None
    return bool((answer.get("status") or {}).get("allowed"))


def groups_of(user: str) -> list[str]:
    """Those that every user, or every service account, is in."""
    if not user.startswith(ACCOUNT):
        return ["system:authenticated"]
    return ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}", "system:authenticated"]


async def leases_of(client: Client, namespace: str | None) -> Sequence[tuple[str, str]] | None:
    """(namespace, holder) of each lease of an operator."""
    try:
        found = await client.list(LEASES, namespace, fields=f"metadata.name={LEASE}")
    except (Forbidden, NotFound):
        return None
    return sorted((each["metadata"]["namespace"], (each.get("spec") or {}).get("holderIdentity") or "") for each in found)


async def runs_yunikorn(client: Client) -> bool | None:
    """It has no kinds of its own; it is seen by the label of its Deployment."""
    try:
        return bool(await client.list(DEPLOYMENTS, labels="app=yunikorn", metadata_only=True))
    except NotFound:
        return False
    except ApiError:
        return None
