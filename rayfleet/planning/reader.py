"""What observers of all kinds read from: the runtime's caches, as far as most of them need them."""

from __future__ import annotations

from typing import Any, Protocol

from rayfleet.api.meta import Key, Resource


class Reader(Protocol):
    """The part of the runtime's reader that is used by every kind."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def backoffs(self, key: Key) -> Any: ...
