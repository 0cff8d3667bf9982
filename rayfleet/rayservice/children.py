"""One child of a RayService or of its clusters, held to its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rayfleet.api.meta import SERVICES, Resource
from rayfleet.api.views import ChildView
from rayfleet.planning.actions import Action, Create, Delete, Patch, deed, scope_of
from rayfleet.planning.convergence import compared, drift, places, refuses_in_place
from rayfleet.rayservice.observed import Observed


def held_to(
    observed: Observed, resource: Resource, manifest: Mapping[str, Any], found: Sequence[ChildView], made: str, changed: str = ""
) -> Iterator[Action]:
    """`made` and `changed` are the reasons; without the latter the places that differ are told.

    A patch is taken only of the version that was seen: another process may have gone a step further.
    """
    name = str(manifest["metadata"]["name"])
    have = next((each for each in found if each.name == name), None)
    if observed.held_back(scope_of(resource, name)) or (have is not None and have.terminating):
        return
    namespace = str(manifest["metadata"]["namespace"])
    if have is None:
        yield Create(manifest=manifest, reason=made, **deed("Create", resource, namespace, name))
        return
    patch = drift(compared(manifest), have.body())
    if resource == SERVICES and refuses_in_place(patch):
        yield removed(resource, have, f"{places(patch)} cannot be changed in place")
    elif patch:
        reason = changed or f"{places(patch)} is not as it should be"
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": have.metadata.resource_version}}
        yield Patch(uid=have.metadata.uid, patch=patch, reason=reason, **deed("Update", resource, namespace, name))


def removed(resource: Resource, found: ChildView, reason: str) -> Delete:
    meta = found.metadata
    return Delete(uid=meta.uid, reason=reason, **deed("Delete", resource, meta.namespace, meta.name))
