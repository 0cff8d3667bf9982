"""The API is asked whether our copy of an owner is the newest, before what cannot be undone is done for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rayfleet.api.meta import ObjectMeta, Resource
from rayfleet.planning.actions import Action, AddFinalizer, Delete, Fence

SCOPE = "newest"


def newest(resource: Resource, meta: ObjectMeta, scope: str, reason: str) -> Fence:
    return Fence(resource, meta.namespace, meta.name, meta.resource_version, {}, scope, reason)


def asked_first(resource: Resource, meta: ObjectMeta, actions: Sequence[Action], held_back: Callable[[str], float]) -> list[Action]:
    """Nothing is deleted because of what the owner said a while ago. A fence that is there already, or a new finalizer, tests the copy too.

    `held_back(scope)` gives the seconds until a scope may try again.
    """
    if not any(isinstance(each, Delete) for each in actions) or any(isinstance(each, Fence | AddFinalizer) for each in actions):
        return list(actions)
    if held_back(SCOPE):
        return [each for each in actions if not isinstance(each, Delete)]
    return [newest(resource, meta, SCOPE, "only for the newest spec is something deleted"), *actions]
