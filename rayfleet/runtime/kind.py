"""What a controller hands to the runtime: what to watch, how to observe, how to plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rayfleet.api.meta import Key, Resource
from rayfleet.planning.gauge import Gauge
from rayfleet.planning.plan import Plan
from rayfleet.runtime.reader import Reader

O = TypeVar("O")  # noqa: E741 (Observed)
Decode = Callable[[bytes], Any]
Measure = Callable[[Iterable[Any]], Iterable[Gauge]]


def never_calm(old: Any, new: Any) -> bool:
    """Every change is looked at without delay."""
    return False


def everybody(found: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Child:
    """Objects that belong to ours by their controller reference. Only those with the labels are watched, when labels are given.

    `type` is the struct that is cached; `decode` makes it from one object's bytes where typed decoding alone is not enough.
    `metadata_only`: the rest of the objects never gets here (Secrets).
    `required`: nothing can be decided without having seen them. Of others that may not be listed none are seen, and the rest goes on.
    `calm(old, new)`: may the owner's look at this change wait a moment, by when there may be more to see?
    `through`: they belong to a child of that kind, and only by it to ours.
    `owns`: it is the other way round: some of ours belong to them. `concerns(ours)`: is a change of theirs anything to this one of ours?
    """

    resource: Resource
    type: type
    labels: str = ""
    decode: Decode | None = None
    required: bool = True
    metadata_only: bool = False
    calm: Callable[[Any, Any], bool] = never_calm
    through: Resource | None = None
    owns: bool = False
    concerns: Callable[[Any], bool] = everybody


class Outside(Protocol):
    """Somebody outside of Kubernetes who is told things, and of whom an observation may tell. Nothing here waits.

    `subscribe`: hear whose observation has changed. `send`: `told` hears why it did not succeed, "" when it did.
    `rest`: nothing is asked or sent any more, until somebody observes again.
    """

    def subscribe(self, listener: Callable[[Key], None]) -> None: ...
    def send(self, key: Key, target: Any, message: Any, told: Callable[[str], None]) -> None: ...
    def forget(self, key: Key) -> None: ...
    def rest(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind(Generic[O]):
    """`observe` gives None for an object that is gone; it may raise, and so may `plan`: the object is then tried again later.

    `outside` carries the plan's calls. `called`: what it is called in logs and metrics, where another kind has the same resource.

    `concerns`: is there anything to do about this version of an object? One of which neither the version before nor that now concerns us is
    not looked at, whatever becomes of it and its children.

    `required`: the process is not ready without having seen its objects. Of one that may not be listed none are seen, and the rest goes on.

    `measure` says at each scrape what there is to say of all objects in the cache; nothing about them is kept between scrapes.
    """

    resource: Resource
    type: type
    children: tuple[Child, ...]
    observe: Callable[[Reader, Key, float], Awaitable[O | None]]
    plan: Callable[[O], Plan]
    decode: Decode | None = None
    measure: Measure | None = None
    outside: Outside | None = None
    concerns: Callable[[Any], bool] = everybody
    required: bool = True
    called: str = ""

    @property
    def title(self) -> str:
        return self.called or self.resource.kind
