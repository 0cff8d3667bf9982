"""What KubeRay's boards and alerts read of RayClusters, under its names (reference: KubeRay, 5.3). Made from the objects at each scrape."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rayfleet.api.decode import Undecodable
from rayfleet.api.labels import ORIGINATED_FROM_KIND
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import RayCluster
from rayfleet.planning.conditions import find
from rayfleet.planning.gauge import Gauge

OBJECT = ("name", "namespace", "uid")
INFO = ("kuberay_cluster_info", "Metadata of RayClusters; owner_kind: what made it, RayJob, RayService or None", (*OBJECT, "owner_kind"))
PROVISIONED = (
    "kuberay_cluster_condition_provisioned",
    "Were all Pods of the RayCluster ready once? (condition: true or false)",
    (*OBJECT, "condition"),
)
DURATION = ("kuberay_cluster_provisioned_duration_seconds", "Seconds from a RayCluster's creation until all its Pods were ready", OBJECT)


def measure(clusters: Iterable[RayCluster | Undecodable]) -> tuple[Gauge, ...]:
    infos, provisioned, durations = [], [], []
    for cluster in clusters:
        meta = cluster.metadata
        labels = (meta.name, meta.namespace, meta.uid)
        infos.append(((*labels, meta.label(ORIGINATED_FROM_KIND) or "None"), 1.0))
        condition = find(cluster.status.conditions, "RayClusterProvisioned")
        if condition is None:
            continue
        provisioned.append(((*labels, str(condition.status == "True").lower()), 1.0))
        if condition.status == "True" and (seconds := since_creation(meta, condition.last_transition_time)) is not None:
            durations.append((labels, seconds))
    return Gauge(*INFO, infos), Gauge(*PROVISIONED, provisioned), Gauge(*DURATION, durations)


def since_creation(meta: ObjectMeta, moment: str | None) -> float | None:
    """None when one of the two moments is not known, or is none."""
    try:
        return (datetime.fromisoformat(moment or "") - datetime.fromisoformat(meta.creation_timestamp or "")).total_seconds()
    except (ValueError, TypeError):
        return None
