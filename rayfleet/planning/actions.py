"""What a controller may do to the world, as values. Each action carries the sentence that says why.

The runtime carries them out in *stages*: a Fence or AddFinalizer first (one at a time, since what follows is only safe once it is written),
then everything else side by side. See `plan.Plan.stages`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.api.meta import Resource

TO_BE_DRAWN = "<drawn when it is created>"
"""Stands in a manifest for a value that nobody may know before; the API would refuse it as the value of a Secret."""
DRAWN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Subject:
    """What an action is done to, as a noun for sentences: one of it, several of it."""

    one: str
    many: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object would be, other than one that is known to be on its way out (`uid`)."""

    resource: Resource
    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Fence:
    """Write annotations on the owner itself, tested against the version that the plan was made from.

    If the owner has changed meanwhile the write is refused and nothing after it in the plan is done; likewise if one of the objects in
    `absent` exists, which the plan took for gone: the API itself is asked, before the write and after it, since the cache of one process
    among several may be behind. Without annotations nothing is written: the API is asked for the owner's version.
    """

    resource: Resource
    namespace: str
    name: str
    resource_version: str
    annotations: Mapping[str, str | None]
    scope: str
    reason: str
    absent: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put a finalizer on the owner itself, tested as a fence is, before that exists which it stands for.

    `finalizers` are all that the owner has then, its own and other people's.
    """

    resource: Resource
    namespace: str
    name: str
    resource_version: str
    finalizers: tuple[str, ...]
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take a finalizer off the owner itself, tested as a fence is; an owner that was deleted is then gone.

    `finalizers` are those that stay. `warns`: its duty was not done, and the event is a Warning.
    """

    resource: Resource
    namespace: str
    name: str
    resource_version: str
    finalizers: tuple[str, ...]
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Resize:
    """Change how much the owner's spec asks for, by JSON patch (RFC 6902), tested as a fence is: places in lists are those of that version.

    Each of `operations` is one of the patch. `events` are pairs of an event's reason and its note, told when it is done.
    """

    resource: Resource
    namespace: str
    name: str
    resource_version: str
    operations: tuple[Mapping[str, Any], ...]
    scope: str
    reason: str
    subject: Subject
    failed_event: str
    events: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Create:
    """Create one object. `manifest` is complete and carries the controller's owner reference.

    `drawn` are keys of its `data` whose values come from dice as the object is sent, so that no plan, log or transcript knows them.
    """

    resource: Resource
    namespace: str
    name: str
    manifest: Mapping[str, Any]
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Merge-patch one child, with its UID as a precondition (so a namesake of another life is refused)."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    patch: Mapping[str, Any]
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one object by name *and* UID.

    A `setback` is a delete that repairs something broken: it is counted in its scope, and what replaces it waits longer each time.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str
    setback: bool = False


def deed(verb: str, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
    """What all actions on one child have alike, under KubeRay's reasons. `verb`: Create, Update or Delete."""
    kind = resource.kind
    return {
        "resource": resource,
        "namespace": namespace,
        "name": name,
        "scope": scope_of(resource, name),
        "subject": Subject(kind, f"{kind}s"),
        "event": f"{verb.removesuffix('e')}ed{kind}",
        "failed_event": f"FailedTo{verb}{kind}",
    }


def scope_of(resource: Resource, name: str) -> str:
    return f"{resource.kind.lower()}/{name}"


def sent(create: Create, draw: Callable[[int], bytes]) -> Mapping[str, Any]:
    """The manifest as it is sent. `draw(n)` gives n random bytes; a value is 32 of them as text in base 64, as KubeRay's tokens are."""
    if not create.drawn:
        return create.manifest
    values = {key: base64.b64encode(base64.b64encode(draw(DRAWN_BYTES))).decode() for key in create.drawn}
    return {**create.manifest, "data": {**create.manifest.get("data", {}), **values}}


Action = Fence | AddFinalizer | RemoveFinalizer | Resize | Create | Patch | Delete
OnOwner = Fence | AddFinalizer | RemoveFinalizer
"""What is written to the owner itself."""
