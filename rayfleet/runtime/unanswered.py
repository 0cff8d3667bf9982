"""Creations of which nobody knows whether they took place: the answer was lost, or the server broke down. By the owner.

Kept in the process only: another one begins with a consistent list.
"""

from __future__ import annotations

from rayfleet.api.meta import Key, Resource
from rayfleet.kube.errors import ApiError, ServerError, Unreachable
from rayfleet.planning.actions import Action, Create

Place = tuple[Resource, str, str]


class Unanswered:
    """The copy may not show them for a while, and a plan that is made from it may want another one, by another name."""

    def __init__(self) -> None:
        self._known: dict[Key, dict[Place, Create]] = {}

    def refused(self, key: Key, action: Action, error: ApiError) -> None:
        """Remember it if the error does not say that nothing was done."""
        if isinstance(action, Create) and isinstance(error, Unreachable | ServerError):
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


def place_of(action: Create) -> Place:
    return action.resource, action.namespace, action.name
