"""Is a cluster what a RayService asks for? (KubeRay, 4.2)

By the hash that stands on the cluster, or by its spec: another operator's hash is another one, and what it made is to stay.
Counts, and what queues write, may differ: that changes in place.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.raycluster import RayCluster, RayClusterSpec

MUTED_GROUP_FIELDS = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
MUTED_POD_FIELDS = ("tolerations", "schedulingGates")
UNWRITTEN = frozenset(
    {"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "hostPort", "initialDelaySeconds", "priority", "suspend"}
)
"""Fields of which another operator does not write the zero value that the user wrote."""

AMOUNTS = frozenset({"limits", "requests"})


def cluster_hash(spec: RayClusterSpec, groups: int | None = None) -> str:
    """SHA-1 in base 32 with the extended hex alphabet over what may not change in place; of `groups` worker groups (None: all)."""
    text = json.dumps(muted(spec, groups), sort_keys=True, separators=(",", ":")).encode()
    return base64.b32hexencode(hashlib.sha1(text, usedforsecurity=False).digest()).decode()


def is_made_for(cluster: RayCluster, spec: RayClusterSpec) -> bool:
    return matches(cluster, spec, len(spec.worker_group_specs))


def lacks_only_groups(cluster: RayCluster, spec: RayClusterSpec) -> bool:
    """Were worker groups only appended since it was made?"""
    have = len(cluster.spec.worker_group_specs)
    return have < len(spec.worker_group_specs) and matches(cluster, spec, have)


def matches(cluster: RayCluster, spec: RayClusterSpec, groups: int) -> bool:
    if cluster.metadata.annotation(labels.CLUSTER_HASH) == cluster_hash(spec, groups):
        return True
    return len(cluster.spec.worker_group_specs) == groups and said(muted(cluster.spec)) == said(muted(spec, groups))


def muted(spec: RayClusterSpec, groups: int | None = None) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    value.pop("suspend", None)
    value["workerGroupSpecs"] = (value.get("workerGroupSpecs") or [])[:groups]
    for group in value["workerGroupSpecs"]:
        for name in MUTED_GROUP_FIELDS:
            group.pop(name, None)
    for group in [value.get("headGroupSpec") or {}, *value["workerGroupSpecs"]]:
        pod = (group.get("template") or {}).get("spec") or {}
        for name in MUTED_POD_FIELDS:
            pod.pop(name, None)
    return value


def said(value: Any) -> Any:
    """Without what says nothing: empty maps, lists and texts, and what an API server fills in; amounts as texts."""
    if isinstance(value, Mapping):
        kept = {name: amounts(part) if name in AMOUNTS else said(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if not says_nothing(name, part)}
    return [said(part) for part in value] if isinstance(value, list) else value


def amounts(value: Any) -> Any:
    return {name: str(part) for name, part in value.items()} if isinstance(value, Mapping) else value


def says_nothing(name: str, value: Any) -> bool:
    return value in ("", None, {}, []) or (name in UNWRITTEN and not value) or (name, value) == ("protocol", "TCP")
