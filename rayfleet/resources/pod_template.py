"""The user's Pod template as a fresh, mutable copy. Container 0 is the Ray container, always."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.names import head_service_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.template import absent

Manifest = dict[str, Any]
FIXED = (labels.CLUSTER, labels.NODE_TYPE, labels.GROUP, labels.REPLICA_INDEX, labels.HOST_INDEX, labels.REPLICA_NAME)
"""Labels that a template cannot change."""


def template_of(raw: msgspec.Raw) -> Manifest:
    """A fresh copy of a Pod template. Raises msgspec.DecodeError when it is no JSON object."""
    template = object_of(raw)
    return {**template, "spec": template.get("spec") or {}}


def object_of(raw: msgspec.Raw) -> Manifest:
    """A raw field as a fresh object; {} where it is not set. Raises msgspec.DecodeError when it is something else."""
    return {} if absent(raw) else msgspec.json.decode(raw, type=dict[str, Any])


def ray_container(template: Manifest) -> Manifest:
    containers = template["spec"].get("containers") or [{}]
    return dict(containers[0])


def head_service_of(cluster: RayCluster) -> str:
    """The name of the head's Service: the one that the user's Service carries, else the usual one."""
    given = object_of(cluster.spec.head_group_spec.head_service).get("metadata") or {}
    return str(given.get("name") or head_service_name(cluster.metadata.name))
