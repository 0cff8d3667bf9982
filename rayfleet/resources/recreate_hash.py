"""The hash by which the Recreate strategy sees that a running cluster is no longer what the spec says (KubeRay, 2.6).

It leaves out what may change in place: counts, and what queues write (tolerations, scheduling gates).
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import msgspec

from rayfleet.api.raycluster import RayClusterSpec

MUTED_GROUP_FIELDS = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
MUTED_POD_FIELDS = ("tolerations", "schedulingGates")


def recreate_hash(spec: RayClusterSpec) -> str:
    """SHA-1 in base 32 with the extended hex alphabet, over the spec's canonical JSON."""
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    value.pop("upgradeStrategy", None)
    groups = value.get("workerGroupSpecs") or []
    for group in groups:
        for name in MUTED_GROUP_FIELDS:
            group.pop(name, None)
    for group in [value.get("headGroupSpec") or {}, *groups]:
        pod = (group.get("template") or {}).get("spec") or {}
        for name in MUTED_POD_FIELDS:
            pod.pop(name, None)
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return base64.b32hexencode(hashlib.sha1(canonical, usedforsecurity=False).digest()).decode()
