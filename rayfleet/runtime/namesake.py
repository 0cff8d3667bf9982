"""Who holds a name that we wanted to create."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rayfleet.api.meta import ObjectMeta, controller_of
from rayfleet.kube.errors import NotFound
from rayfleet.planning.actions import Create


@dataclass(frozen=True, slots=True)
class Namesake:
    """`foreign`: another owner's, and there to stay. Neither ours nor foreign: on its way out, or what a former life of the owner left."""

    uid: str = ""
    resource_version: str = ""
    ours: bool = False
    foreign: bool = False
    vanished: bool = False

    def told(self, message: str) -> str:
        if self.foreign:
            return f"{message}: it belongs to somebody else, and is left alone"
        if self.ours:
            return f"{message}: it is ours, but cannot be seen (have its labels been changed?)"
        return f"{message}: waiting until it is gone"


async def who_holds(lookup: Callable[[Create], Awaitable[ObjectMeta]], action: Create, owner: ObjectMeta) -> Namesake:
    """Asks the API, since the cache may be behind. Raises ApiError."""
    try:
        found = await lookup(action)
    except NotFound:
        return Namesake(vanished=True)
    controller = controller_of(found)
    ours = controller is not None and controller.uid == owner.uid
    former = controller is not None and not ours and controller.name == owner.name and controller.kind == kind_of(action)
    going = found.deletion_timestamp is not None
    return Namesake(found.uid, found.resource_version, ours=ours and not going, foreign=not (ours or former or going))


def kind_of(action: Create) -> str:
    """The kind of the owner, as the manifest's controller reference names it."""
    for reference in action.manifest.get("metadata", {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference.get("kind", ""))
    return ""
