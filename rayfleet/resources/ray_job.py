"""What a RayJob makes besides its submitter: its cluster, and the Service that leads to the head of the present one (KubeRay, 3.1)."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS
from rayfleet.api.names import head_service_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.resources.cluster_document import cluster_document
from rayfleet.resources.ownership import identifier, owned_by
from rayfleet.resources.pod_template import object_of
from rayfleet.resources.services import head_service
from rayfleet.resources.submitter import sidecar

Manifest = dict[str, Any]
NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", labels.TRIES, labels.SUBMITTED_TO)


def origin(job: RayJob) -> dict[str, str]:
    return {labels.ORIGINATED_FROM_NAME: job.metadata.name, labels.ORIGINATED_FROM_KIND: RAYJOBS.kind}


def job_cluster(job: RayJob, name: str, submission: bytes, config: Configuration) -> Manifest:
    """The cluster of one try. It carries the job's labels and annotations; in SidecarMode its head submits, and ends with the job."""
    meta, mode = job.metadata, job.spec.submission_mode
    notes = {name: value for name, value in (meta.annotations or {}).items() if name not in NOT_COPIED}
    assert job.spec.ray_cluster_spec is not None
    spec = cluster_document(job.spec.ray_cluster_spec)
    if mode == SIDECAR:
        notes[labels.DISABLE_HEAD_RESTART] = "true"
        spec = with_sidecar(job, name, spec, submission, config)
    return {
        "apiVersion": RAYCLUSTERS.api_version,
        "kind": RAYCLUSTERS.kind,
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {**(meta.labels or {}), **origin(job), labels.SUBMISSION_MODE: mode},
            **({"annotations": notes} if notes else {}),
            "ownerReferences": [owned_by(RAYJOBS, meta)],
        },
        "spec": spec,
    }


def with_sidecar(job: RayJob, name: str, spec: Manifest, submission: bytes, config: Configuration) -> Manifest:
    assert job.spec.ray_cluster_spec is not None
    cluster = RayCluster(metadata=msgspec.structs.replace(job.metadata, name=name), spec=job.spec.ray_cluster_spec)
    head = spec["headGroupSpec"]
    template = head["template"]
    pod = template["spec"]
    containers = [*pod["containers"], sidecar(job, cluster, submission, config)]
    pod = {**pod, "containers": containers, "restartPolicy": "Never"}
    return {**spec, "headGroupSpec": {**head, "template": {**template, "spec": pod}}}


def job_head_service(job: RayJob, cluster: RayCluster, config: Configuration) -> Manifest:
    """Leads to the head of the cluster of the present try, under a name that stays."""
    made = head_service(cluster, config)
    name = job.metadata.name
    own = {labels.IDENTIFIER: identifier(name, labels.HEAD), labels.NODE_TYPE: labels.HEAD, **origin(job)}
    given = (object_of(cluster.spec.head_group_spec.head_service).get("metadata") or {}).get("labels") or {}
    notes = made["metadata"].get("annotations")
    metadata = {
        "name": head_service_name(name),
        "namespace": job.metadata.namespace,
        "labels": {**given, **own},
        **({"annotations": notes} if notes else {}),
        "ownerReferences": [owned_by(RAYJOBS, job.metadata)],
    }
    return {**made, "metadata": metadata}
