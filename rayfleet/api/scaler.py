"""Who sizes the worker groups of a cluster with `enableInTreeAutoscaling`: Ray's own container beside the head, or the operator itself."""

from __future__ import annotations

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import RayClusterSpec

SIDECAR, HOSTED = "sidecar", "hosted"
CHOICES = (SIDECAR, HOSTED)


def is_hosted(metadata: ObjectMeta, spec: RayClusterSpec, config: Configuration) -> bool:
    """Is it the operator? The cluster's annotation counts before the configuration."""
    return bool(spec.enable_in_tree_autoscaling) and (metadata.annotation(labels.AUTOSCALING) or config.autoscaling) == HOSTED


def has_sidecar(metadata: ObjectMeta, spec: RayClusterSpec, config: Configuration) -> bool:
    """Does a head that is made now get Ray's autoscaler beside it?"""
    return bool(spec.enable_in_tree_autoscaling) and not is_hosted(metadata, spec, config)
