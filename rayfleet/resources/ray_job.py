"""What a RayJob makes besides its submitter: its cluster, and the Service that leads to the head of the present one (KubeRay, 3.1)."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.resources.cluster_document import cluster_document
from rayfleet.resources.ownership import origin, owned_by
from rayfleet.resources.services import stable_head_service
from rayfleet.resources.submitter import sidecar

Manifest = dict[str, Any]
NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", labels.TRIES, labels.SUBMITTED_TO)


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
            "labels": {**(meta.labels or {}), **origin(RAYJOBS, job.metadata), labels.SUBMISSION_MODE: mode},
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
    return stable_head_service(RAYJOBS, job.metadata, cluster, config)
