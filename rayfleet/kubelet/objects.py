"""The objects the kubelet watches. Specs stay raw: a Pod's template may hold fields newer than this program."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.meta import ObjectMeta


class Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    @property
    def containers(self) -> list[dict[str, Any]]:
        return self.spec.get("containers") or []

    @property
    def init_containers(self) -> list[dict[str, Any]]:
        return self.spec.get("initContainers") or []

    @property
    def finished(self) -> bool:
        """No container of it will ever run again."""
        return self.status.get("phase") in ("Succeeded", "Failed")


class Service(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}
