"""Writes of which nobody knows whether they took place: the answer was lost, or the server broke down.

Creations are remembered by the owner, in the process only: another one begins with a consistent list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from rayfleet.api.meta import Key, ObjectMeta, Resource
from rayfleet.kube.errors import ApiError, NotFound, ServerError, Unreachable
from rayfleet.planning.actions import Action, Create, Delete, Fence, Patch, Place
from rayfleet.runtime.visibility import Source, Visibility


class Unanswered:
    """The API is asked at once. A creation may still be under way then, and a plan may want another one, by another name: it is asked about
    once more. `lookup` asks the API itself, and raises ApiError."""

    def __init__(
        self, sources: Mapping[Resource, Source], visibility: Visibility, lookup: Callable[[Place], Awaitable[ObjectMeta]]
    ) -> None:
        self._sources = sources
        self._visibility = visibility
        self._lookup = lookup
        self._known: dict[Key, dict[Place, Create]] = {}

    async def is_gone(self, key: Key, place: Place) -> bool:
        """Is the object that the write was for gone, or going? What the API says the copy must show before the next look at `key`."""
        source = self._sources.get(place.resource)
        try:
            meta = await self._lookup(place)
        except NotFound:
            self.gone(key, place)
            return True
        except ApiError:
            if source:
                self._visibility.doubted(key, source)
            return False
        if source:
            self._visibility.wrote(key, source, meta.resource_version)
        return meta.uid != place.uid or meta.deletion_timestamp is not None

    def gone(self, key: Key, place: Place) -> None:
        """The API does not have it: the copy must show that as well before the next look."""
        if source := self._sources.get(place.resource):
            self._visibility.deleted(key, source, Key(place.namespace, place.name), place.uid)

    def refused(self, key: Key, action: Action, error: ApiError) -> None:
        """Remember it if the error does not say that nothing was done."""
        if isinstance(action, Create) and in_doubt(error):
            self._known.setdefault(key, {})[place_of(action)] = action

    def of(self, key: Key, scope: str) -> list[Create]:
        return [action for action in self._known.get(key, {}).values() if action.scope == scope]

    def settled(self, key: Key, action: Create) -> None:
        """It is known now."""
        left = self._known.get(key, {})
        left.pop(place_of(action), None)
        if not left:
            self.forget(key)

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._known.pop(key, None)


def in_doubt(error: ApiError) -> bool:
    """May the write have taken place all the same?"""
    return isinstance(error, Unreachable | ServerError)


def writes(action: Action) -> bool:
    """A fence without annotations only asks."""
    return not isinstance(action, Fence) or bool(action.annotations)


def place_of(action: Action) -> Place:
    """With the UID where the action insists on one."""
    return Place(action.resource, action.namespace, action.name, action.uid if isinstance(action, Patch | Delete) else "")
