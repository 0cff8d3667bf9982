"""A RayCluster of `cluster.ray.io/v1` as the operator reads it: its document, and what its status says."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.decode import converted
from rayfleet.api.meta import ObjectMeta


class OldStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`phase` is "", Running, Updating, AutoscalingExceptionRecovery or Error."""

    phase: str = ""
    autoscaler_retries: int = 0


class OldCluster(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    status: OldStatus
    raw: msgspec.Raw

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.raw)
        return found


def decode_old(raw: bytes) -> OldCluster:
    """Never raises for an object; what of its status does not fit is left out."""
    text = bytes(raw)
    document: dict[str, Any] = msgspec.json.decode(text)
    return OldCluster(converted(document.get("metadata"), ObjectMeta), lenient(document.get("status")), msgspec.Raw(text))


def lenient(value: Any) -> OldStatus:
    try:
        return msgspec.convert(value or {}, OldStatus)
    except msgspec.ValidationError:
        return OldStatus()
