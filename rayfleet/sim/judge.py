"""What must be true of every operator's requests, for whichever kind of object they are (reference: reliability, b.3).

S3   a delete carries the UID of an own object
S4   objects of others are not touched
S11  nothing is made for an object that is seen to be going
S14  the spec is the users', and so is all metadata but the operator's own marks
S15  what is written to the object itself is tested against the version that was seen, and nothing is decided before own writes are seen,
     those whose answers were lost among them
S16  everything stays in the object's namespace
W2   a status is written only when its meaning changed
W4   a conflict, or a name that our own create took, is nothing to tell
T1   no time in a condition goes backwards, whatever the clock does
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rayfleet.api import labels
from rayfleet.api.meta import JOBS, PERSISTENTVOLUMECLAIMS, Resource
from rayfleet.kube.errors import ApiError
from rayfleet.planning.plan import Event
from rayfleet.sim.leader import TURN, Turn
from rayfleet.sim.store import Change, Obj, Request, owner_uid
from rayfleet.sim.world import OPERATOR, World

TIMES = ("lastUpdateTime", "stateTransitionTimes", "lastTransitionTime")
WORTH_TELLING = ("belongs to somebody else", "have its labels been changed")  # of a name that is taken


class Violation(AssertionError):
    """An invariant does not hold."""


class Judge:
    """Listens to a world, and judges what is done for objects of one `kind`. A broken rule raises `Violation` at once, and ends the world.

    `marks`: annotations of the operator's on the object itself; `finalizer`: its own.
    """

    kind: ClassVar[Resource]
    marks: ClassVar[frozenset[str]] = frozenset()
    finalizer: ClassVar[str] = ""

    def __init__(self, world: World) -> None:
        self.world = world
        world.store.auditors.append(self.check)
        world.before.append(self.check_sight)
        world.hearers.append(self.check_event)

    @property
    def writes(self) -> int:
        """All requests of all operators up to now."""
        return self.world.writes

    def fail(self, invariant: str, text: str) -> None:
        story = "\n".join(self.world.story)
        error = Violation(f"{invariant}: {text} (seed {self.world.seed}, {self.world.clock.elapsed:.3f} s)\n{story}")
        self.world.clock.fail(error)
        raise error

    def check(self, request: Request, change: Change | None, error: ApiError | None) -> None:
        if request.actor.startswith(OPERATOR) and TURN.get().resource == self.kind:
            self.check_request(request, TURN.get())
            if change is not None:
                self.check_write(request, change, TURN.get())
            elif error is None and request.subresource == "status":
                self.fail("W2", f"{request} changes nothing")
            if error is None and request.resource == self.kind and request.subresource != "status":
                TURN.get().sure = self.world.store.version
        if change is not None:
            self.remember(request, change)

    def check_sight(self, turn: Turn) -> None:
        if turn.resource != self.kind:
            return
        for what in turn.leader.unseen(turn):
            self.fail("S15", f"{turn.leader.name} decides on {turn.key} before it sees its own write to {what}")

    def check_event(self, turn: Turn, event: Event) -> None:
        taken = "already exists" in event.note and not any(word in event.note for word in WORTH_TELLING)
        if turn.resource == self.kind and event.type == "Warning" and (taken or "has been modified" in event.note):
            self.fail("W4", f"{event.reason} is told of {turn.key}: {event.note}")

    def check_request(self, request: Request, turn: Turn) -> None:
        if request.namespace != turn.key.namespace:
            self.fail("S16", f"{request} leaves the namespace of {turn.key}")
        if request.verb == "delete" and not request.uid:
            self.fail("S3", f"{request} carries no UID")
        if request.verb == "patch" and request.resource == self.kind and not request.resource_version:
            self.fail("S15", f"{request} does not say which version it was made from")
        if request.verb == "create":
            if not self.is_own(request.resource, request.body, turn):
                self.fail("S3", f"{request} is not owned by {turn.key}")
            if turn.owner.metadata.deletion_timestamp and request.resource != JOBS:
                self.fail("S11", f"{request} for an object that is going")
            self.check_create(request, turn)

    def check_create(self, request: Request, turn: Turn) -> None:
        """What else a kind wants of its children."""

    def check_write(self, request: Request, change: Change, turn: Turn) -> None:
        if request.resource == self.kind:
            if request.verb == "patch":
                self.check_owner(request, change)
        elif request.verb == "delete" and not self.is_own(request.resource, change.old or {}, turn):
            self.fail("S3", f"{request} is not an object of {turn.key}")
        elif request.verb == "patch" and not self.is_own(request.resource, change.old or {}, turn):
            self.fail("S4", f"{request} is not an object of {turn.key}")

    def is_own(self, resource: Resource, obj: Mapping[str, Any], turn: Turn) -> bool:
        return belongs(resource, obj, turn)

    def check_owner(self, request: Request, change: Change) -> None:
        old, new = change.old or {}, change.new
        if new["spec"] != old["spec"]:
            self.fail("S14", f"{request} changes the spec")
        if request.subresource != "status":
            self.check_metadata(request, old)
            return
        if meaning(old.get("status")) == meaning(new.get("status")):
            self.fail("W2", f"{request} changes times only")
        if back := went_back(old.get("status") or {}, new.get("status") or {}):
            self.fail("T1", f"{request} sets {back} back")

    def check_metadata(self, request: Request, old: Obj) -> None:
        given = request.body["metadata"]
        before = set(old["metadata"].get("finalizers") or ())
        after = set(given["finalizers"] or ()) if "finalizers" in given else before
        if not set(given.get("annotations", ())) <= self.marks or not before ^ after <= {self.finalizer}:
            self.fail("S14", f"{request} changes more than its own marks and its finalizer")
        if before - after:
            self.check_release(request, old)

    def check_release(self, request: Request, old: Obj) -> None:
        """What a kind wants done before its finalizer goes."""

    def remember(self, request: Request, change: Change) -> None:
        """Every change, whoever made it."""


def went_back(old: Obj, new: Obj) -> str:
    """The first time of a status that is earlier than before, "" when none is."""
    for name in ("lastUpdateTime", "stateTransitionTimes"):
        for state, time in times(old.get(name)).items():
            if times(new.get(name)).get(state, time) < time:
                return name
    known = {each["type"]: each["lastTransitionTime"] for each in old.get("conditions") or ()}
    for each in new.get("conditions") or ():
        if each["lastTransitionTime"] < known.get(each["type"], ""):
            return f"{each['type']}.lastTransitionTime"
    return ""


def times(value: Any) -> dict[str, str]:
    return value if isinstance(value, dict) else {"": value or ""}


def belongs(resource: Resource, obj: Mapping[str, Any], turn: Turn) -> bool:
    """By its controller; a claim that is kept has none, and belongs to the clusters of its label's name, one after the other."""
    if resource == PERSISTENTVOLUMECLAIMS and not owner_uid(obj):
        return bool(obj["metadata"]["labels"][labels.CLUSTER] == turn.key.name)
    return owner_uid(obj) == turn.uid


def meaning(status: Any) -> Any:
    """A status without its times."""
    if isinstance(status, dict):
        return {name: meaning(value) for name, value in status.items() if name not in TIMES}
    if isinstance(status, list):
        return [meaning(value) for value in status]
    return status or None
