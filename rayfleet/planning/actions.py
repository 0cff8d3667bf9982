"""What a controller may do to the world, as values. Each action carries the sentence that says why.

The runtime carries them out in *stages*: a Fence first (one at a time, since what follows is only safe once it is written), then everything
else side by side. See `plan.Plan.stages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.api.meta import Resource


@dataclass(frozen=True, slots=True)
class Subject:
    """What an action is done to, as a noun for sentences: one of it, several of it."""

    one: str
    many: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object would be."""

    resource: Resource
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Fence:
    """Write annotations on the owner itself, tested against the version that the plan was made from.

    If the owner has changed meanwhile the write is refused and nothing after it in the plan is done; likewise if one of the objects in
    `absent` exists, which the plan took for gone: the API itself is asked, since the cache of a process among several may be behind.
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
class Create:
    """Create one object. `manifest` is complete and carries the controller's owner reference."""

    resource: Resource
    namespace: str
    name: str
    manifest: Mapping[str, Any]
    scope: str
    reason: str
    subject: Subject
    event: str
    failed_event: str


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


Action = Fence | Create | Patch | Delete
