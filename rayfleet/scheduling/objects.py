"""What is watched. Specs stay raw, as they may hold fields newer than this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from rayfleet.api.meta import ObjectMeta

PRETENDS = "rayfleet.dev/pretends-devices"  # annotation of a node that has any device that it does not name


class Pod(Protocol):
    """Whoever runs the scheduler has a cache of Pods already, of a type of its own."""

    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def spec(self) -> Mapping[str, Any]: ...

    @property
    def status(self) -> Mapping[str, Any]: ...


class Node(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Lease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}
