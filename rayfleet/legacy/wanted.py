"""What an old RayCluster asks for, in the words of today."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec

from rayfleet.api import labels
from rayfleet.api.decode import decode_cluster
from rayfleet.api.fault import Fault
from rayfleet.api.legacy import Inconvertible, convert
from rayfleet.api.meta import OLD_RAYCLUSTERS
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.api.validation import validate_cluster
from rayfleet.legacy.observed import Observed
from rayfleet.resources.cluster_document import cluster_document
from rayfleet.resources.ownership import owned_by

Manifest = dict[str, Any]


class Wanted(NamedTuple):
    """`told` is what was lost on the way, in sentences."""

    cluster: Manifest
    services: tuple[Manifest, ...]
    told: tuple[str, ...]


def wanted(observed: Observed) -> Wanted | tuple[str, ...]:
    """The manifests, or what is wrong."""
    meta = observed.old.metadata
    try:
        found = convert(observed.old.document)
    except Inconvertible as error:
        return (str(error),)
    whole, *services = (owned(each, observed) for each in found.objects)
    spec = {**whole["spec"], "upgradeStrategy": {"type": "Recreate"}}  # Pods of another podConfig were replaced
    notes = {**whole["metadata"].get("annotations", {}), labels.OLD_SPEC: digest(spec)}
    cluster = {**whole, "metadata": {**whole["metadata"], "annotations": notes}, "spec": spec}
    faults: tuple[Fault, ...] = validate_cluster(
        decode_cluster(msgspec.json.encode({**cluster, "metadata": {**cluster["metadata"], "namespace": meta.namespace}})), observed.config
    )
    if faults:
        return tuple(f"converted, {fault}" for fault in faults)
    return Wanted(cluster, tuple(services), tuple(str(note) for note in found.notes if note.lost))


def owned(manifest: Manifest, observed: Observed) -> Manifest:
    meta = observed.old.metadata
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "namespace": meta.namespace, "ownerReferences": [owned_by(OLD_RAYCLUSTERS, meta)]},
    }


def digest(spec: Manifest) -> str:
    return hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()[:16]


def renewed(spec: Manifest, found: RayCluster) -> Manifest:
    """The wanted spec with the counts that an autoscaler wrote, as far as they are still allowed."""
    groups = []
    for group in spec["workerGroupSpecs"]:
        now = next((each.replicas for each in found.spec.worker_group_specs if each.group_name == group["groupName"]), group["replicas"])
        groups.append({**group, "replicas": min(max(now, group["minReplicas"]), group["maxReplicas"])})
    return {**spec, "workerGroupSpecs": groups}


def document(spec: RayClusterSpec) -> Manifest:
    return cluster_document(spec)
