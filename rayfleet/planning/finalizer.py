"""Putting a finalizer on an owner, and taking it off: always the whole list, tested against the version that was observed."""

from __future__ import annotations

from rayfleet.api.meta import ObjectMeta, Resource
from rayfleet.planning.actions import AddFinalizer, RemoveFinalizer, Subject

SCOPE = "finalizer"


def held(resource: Resource, meta: ObjectMeta, finalizer: str, reason: str) -> list[AddFinalizer]:
    """Nothing where it is on already. Other people's stay."""
    names = meta.finalizers or ()
    if finalizer in names:
        return []
    add = AddFinalizer(
        resource=resource,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        finalizers=(*names, finalizer),
        scope=SCOPE,
        reason=reason,
        subject=itself(resource),
        event="",
        failed_event="FailedToAddFinalizer",
    )
    return [add]


def released(resource: Resource, meta: ObjectMeta, finalizer: str, reason: str, event: str = "") -> RemoveFinalizer:
    """An `event` says that its duty was not done, and is a Warning."""
    return RemoveFinalizer(
        resource=resource,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        finalizers=tuple(name for name in meta.finalizers or () if name != finalizer),
        scope=SCOPE,
        reason=reason,
        subject=itself(resource),
        event=event,
        failed_event="FailedToRemoveFinalizer",
        warns=bool(event),
    )


def itself(resource: Resource) -> Subject:
    return Subject(resource.kind, f"{resource.kind}s")
