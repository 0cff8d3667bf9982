"""The objects of one kind as last seen, indexed by the controller that owns them, and whoever wants to hear of changes.

Versions are compared as numbers, which the API promises for objects of one resource; where they are none, the latest word counts.
https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic

from rayfleet.api.meta import Key, ObjectMeta, controller_of
from rayfleet.runtime.wire import T

log = logging.getLogger(__name__)

BURST = 100  # objects handled before others get their turn


class Cache(Generic[T]):
    """Handlers are called in order of subscription, between two steps of the loop, and must not block."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._owned: dict[str, dict[Key, T]] = {}
        self._handlers: list[Callable[[Any, Any], None]] = []

    def subscribe(self, handler: Callable[[T | None, T | None], None]) -> None:
        self._handlers.append(handler)

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def values(self) -> Collection[T]:
        return self._objects.values()

    def owned(self, uid: str) -> Collection[T]:
        return self._owned.get(uid, {}).values()

    async def replace(self, found: Mapping[Key, T]) -> None:
        """Become what a complete list says, telling only the differences."""
        for key in self._objects.keys() - found.keys():
            self._forget(key)
        for number, (key, new) in enumerate(found.items(), 1):
            old = self._objects.get(key)
            if old is None or old.metadata.resource_version != new.metadata.resource_version:
                self._store(key, new)
            if number % BURST == 0:
                await asyncio.sleep(0)

    def put(self, new: T) -> None:
        """Take a watched object over, unless what is known is as new (told twice, or late)."""
        key = new.metadata.key
        old = self._objects.get(key)
        if old is None or older(old.metadata.resource_version, new.metadata.resource_version):
            self._store(key, new)

    def remove(self, gone: ObjectMeta) -> None:
        """Take a watched deletion over, unless a newer object of the same name is known."""
        old = self._objects.get(gone.key)
        if old is not None and (old.metadata.uid == gone.uid or older(old.metadata.resource_version, gone.resource_version)):
            self._forget(gone.key)

    def _store(self, key: Key, new: T) -> None:
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:
            self._forget(key)
            old = None
        if old is not None:
            self._disown(key, old)
        self._objects[key] = new
        owner = controller_of(new.metadata)
        if owner:
            self._owned.setdefault(owner.uid, {})[key] = new
        self._tell(old, new)

    def _forget(self, key: Key) -> None:
        old = self._objects.pop(key)
        self._disown(key, old)
        self._tell(old, None)

    def _disown(self, key: Key, old: T) -> None:
        owner = controller_of(old.metadata)
        if owner and (siblings := self._owned.get(owner.uid)):
            siblings.pop(key, None)
            if not siblings:
                del self._owned[owner.uid]

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:  # one subscriber's fault must not make the copy untrue for the others
                log.exception("a subscriber failed", extra={"object": str((new or old).metadata.key)})  # type: ignore[union-attr]


def older(version: str, other: str) -> bool:
    """Is `version` older than `other`? Versions that are no numbers are older than any other text."""
    try:
        return int(version or 0) < int(other or 0)
    except ValueError:
        return version != other
