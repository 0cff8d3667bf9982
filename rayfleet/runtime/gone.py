"""Names of owned objects that were taken and are gone. A name that was used once is not used again while the owner lives.

(Ray's autoscaler takes Pod names for identities; design, decision 3.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rayfleet.api.meta import controller_of
from rayfleet.runtime.cache import older
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.visibility import Source

NOBODY: frozenset[str] = frozenset()
LATEST_OWNER = 300.0  # seconds by which the copy of the owners may be behind that of their children


class Made(NamedTuple):
    """A child that we made: once `copy` has reached the version, its absence there means that it has gone."""

    copy: Source
    namespace: str
    name: str
    version: str


@dataclass(slots=True)
class Names:
    vanished: frozenset[str] = NOBODY
    made: dict[str, Made] = field(default_factory=dict)


@dataclass(slots=True)
class Early:
    """Names of an owner that is not known yet, or no longer; `since` is monotonic."""

    since: float
    names: set[str] = field(default_factory=set)


class Gone:
    """By the owner's UID. What was seen to vanish, and what we made and the copy does not have although it is late enough for that."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._names: dict[str, Names] = {}
        self._early: dict[str, Early] = {}

    def heard(self, old: Any, new: Any) -> None:
        """A change as an informer tells it, of a child whose owner is known. `forget` is to follow one day."""
        if new is not None and (owner := controller_of(new.metadata)) and (known := self._names.get(owner.uid)):
            known.made.pop(new.metadata.name, None)
        if old is not None and new is None and (owner := controller_of(old.metadata)):
            known = self._names.setdefault(owner.uid, Names())
            known.vanished |= {old.metadata.name}

    def heard_early(self, old: Any, new: Any) -> None:
        """Likewise, where the owner's copy has no such owner: it is yet to come, or it is gone and will not be asked for again."""
        now = self._clock.monotonic()
        for uid in [uid for uid, early in self._early.items() if now - early.since > LATEST_OWNER]:
            del self._early[uid]
        if old is not None and new is None and (owner := controller_of(old.metadata)):
            self._early.setdefault(owner.uid, Early(now)).names.add(old.metadata.name)

    def made(self, uid: str, children: Iterable[Made]) -> None:
        """Children that were created for us: one may go before the copy ever showed it."""
        for child in children:
            if child.copy.get(child.namespace, child.name) is None:
                self._names.setdefault(uid, Names()).made[child.name] = child

    def of(self, uid: str) -> frozenset[str]:
        if early := self._early.pop(uid, None):
            self._names.setdefault(uid, Names()).vanished |= early.names
        known = self._names.get(uid)
        if known is None:
            return NOBODY
        for child in [child for child in known.made.values() if not older(child.copy.resource_version, child.version)]:
            del known.made[child.name]
            if child.copy.get(child.namespace, child.name) is None:
                known.vanished |= {child.name}
        return known.vanished

    def forget(self, uid: str) -> None:
        """The owner itself is gone."""
        self._names.pop(uid, None)
