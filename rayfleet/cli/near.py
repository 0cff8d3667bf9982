"""What may have been meant by a name that nothing has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayfleet.cli.failure import Failure

if TYPE_CHECKING:
    from rayfleet.api.meta import Resource
    from rayfleet.kube.client import Client


async def find(client: Client, kind: Resource, namespace: str, name: str) -> dict[str, Any]:
    """The object. Raises Failure, with names that are near, when there is none; ApiError otherwise."""
    from rayfleet.kube.errors import NotFound

    try:
        return await client.get(kind, name, namespace)
    except NotFound as error:
        raise await absent(client, kind, namespace, name) from error


async def absent(client: Client, kind: Resource, namespace: str, name: str) -> Failure:
    """That there is no such object, with names that are near."""
    return Failure(f"there is no {kind.kind.lower()} {name} in namespace {namespace}{await near(client, kind, namespace, name)}")


async def near(client: Client, kind: Resource, namespace: str, name: str) -> str:
    """What may have been meant instead: a like name here, or the same elsewhere."""
    from difflib import get_close_matches

    from rayfleet.kube.errors import ApiError, NotFound

    try:
        found = await client.list(kind, metadata_only=True)
    except NotFound:
        return f"; the API server does not know {kind.kind}s at all: rayfleet crds | kubectl apply -f -"
    except ApiError:
        try:
            found = await client.list(kind, namespace, metadata_only=True)
        except ApiError:
            return ""
    here = sorted(each["metadata"]["name"] for each in found if each["metadata"]["namespace"] == namespace)
    elsewhere = sorted(each["metadata"]["namespace"] for each in found if each["metadata"]["name"] == name)
    if elsewhere:
        return f"; there is one in {', '.join(elsewhere)}: add -n {elsewhere[0]}"
    if likely := get_close_matches(name, here, n=3):
        return f"; did you mean {' or '.join(likely)}?"
    return f"; it has: {', '.join(here[:10])}" if here else ", nor any other"
