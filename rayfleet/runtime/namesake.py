"""Who holds a name that we wanted to create."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rayfleet.api.meta import ObjectMeta, controller_of
from rayfleet.kube.errors import NotFound
from rayfleet.planning.actions import Create


@dataclass(frozen=True, slots=True)
class Namesake:
    """`foreign`: another owner's, and there to stay. `passing`: gone, going, or left by a former life of the owner, and soon collected."""

    uid: str = ""
    resource_version: str = ""
    ours: bool = False
    foreign: bool = False
    passing: bool = False

    def told(self, message: str) -> str:
        if self.foreign:
            return f"{message}: it belongs to somebody else, and is left alone"
        return f"{message}: it is ours, but cannot be seen (have its labels been changed?)"


async def who_holds(lookup: Callable[[Create], Awaitable[ObjectMeta]], action: Create, owner: ObjectMeta) -> Namesake:
    """Asks the API, since the cache may be behind. Raises ApiError."""
    try:
        found = await lookup(action)
    except NotFound:
        return Namesake(passing=True)
    controller = controller_of(found)
    ours = is_kept(action, found) if controller is None else controller.uid == owner.uid
    former = controller is not None and not ours and controller.name == owner.name and controller.kind == kind_of(action)
    passing = former or found.deletion_timestamp is not None
    return Namesake(found.uid, found.resource_version, ours=ours and not passing, foreign=not (ours or passing), passing=passing)


def is_kept(action: Create, found: ObjectMeta) -> bool:
    """Has it no owner because ours is to have none either, and does it carry the labels by which we know such?"""
    metadata = action.manifest.get("metadata", {})
    wanted = metadata.get("labels") or {}
    return not metadata.get("ownerReferences") and bool(wanted) and wanted.items() <= (found.labels or {}).items()


def kind_of(action: Create) -> str:
    """The kind of the owner, as the manifest's controller reference names it."""
    for reference in action.manifest.get("metadata", {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference.get("kind", ""))
    return ""
