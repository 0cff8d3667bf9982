"""Names of owned objects that this process saw vanish. A name that was used once is not used again while the owner lives.

(Ray's autoscaler takes Pod names for identities; design, decision 3.)
"""

from __future__ import annotations

from typing import Any

from rayfleet.api.meta import controller_of

NOBODY: frozenset[str] = frozenset()


class Gone:
    """By the owner's UID."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def heard(self, old: Any, new: Any) -> None:
        """A change as an informer tells it. Not to be called for objects whose owner is gone: nobody would forget them again."""
        if old is not None and new is None and (owner := controller_of(old.metadata)):
            self._names[owner.uid] = self.of(owner.uid) | {old.metadata.name}

    def of(self, uid: str) -> frozenset[str]:
        return self._names.get(uid, NOBODY)

    def forget(self, uid: str) -> None:
        """The owner itself is gone."""
        self._names.pop(uid, None)
