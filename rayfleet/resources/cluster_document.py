"""A RayCluster's spec as it is sent: what is left out as a default here may be demanded by the definitions that are installed."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.raycluster import RayClusterSpec


def cluster_document(spec: RayClusterSpec) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    for group in (document.setdefault("headGroupSpec", {}), *document.get("workerGroupSpecs", ())):
        group.setdefault("rayStartParams", {})
    return document
