"""The cluster of the present try: made, led to, and taken down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import JOBS, RAYCLUSTERS, RAYJOBS, SERVICES, Resource
from rayfleet.api.names import head_service_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.planning.actions import Action, Create, Delete, Patch, Subject
from rayfleet.planning.convergence import drift
from rayfleet.planning.newest import newest
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.submission import act_of
from rayfleet.resources.ray_job import job_cluster, job_head_service

SCOPE, SERVICE_SCOPE = "cluster", "service"
NOUNS = {
    RAYCLUSTERS: Subject("RayCluster", "RayClusters"),
    JOBS: Subject("submitter Job", "submitter Jobs"),
    SERVICES: Subject("Service", "Services"),
}


def make_cluster(observed: Observed, job: RayJob) -> list[Action]:
    """Not beside one of another try; in SidecarMode, where the cluster submits by itself, only by the newest copy of the job."""
    name = job.status.ray_cluster_name
    if observed.owned or observed.held_back(SCOPE) or job.spec.ray_cluster_spec is None:
        return []
    manifest = job_cluster(job, name, act_of(observed, job).body, observed.config)
    create = Create(
        resource=RAYCLUSTERS,
        namespace=job.metadata.namespace,
        name=name,
        manifest=manifest,
        scope=SCOPE,
        reason="the job runs on it",
        subject=NOUNS[RAYCLUSTERS],
        event="CreatedRayCluster",
        failed_event="FailedToCreateRayCluster",
    )
    if job.spec.submission_mode == SIDECAR:
        return [newest(RAYJOBS, job.metadata, SCOPE, "our copy of the job must be the newest"), create]
    return [create]


def strays(observed: Observed, job: RayJob) -> list[Action]:
    """Clusters of tries that are over: another operator may have made one from an old copy of the job."""
    left = [each for each in observed.owned if each.metadata.name != job.status.ray_cluster_name and not each.metadata.deletion_timestamp]
    going = [delete(RAYCLUSTERS, each, "it is of a try that is over") for each in left]
    return [each for each in going if not observed.held_back(each.scope)]


def plan_service(observed: Observed, job: RayJob) -> list[Action]:
    """The Service of the job's name leads to the head of the present cluster. A cluster that is shared needs none."""
    if not isinstance(observed.cluster, RayCluster) or job.spec.cluster_selector or observed.held_back(SERVICE_SCOPE):
        return []
    manifest = job_head_service(job, observed.cluster, observed.config)
    found = next((service for service in observed.services if service.name == head_service_name(job.metadata.name)), None)
    if found is None:
        return [Create(manifest=manifest, reason="it leads to the head of the job's cluster", **target(job, SERVICES, manifest, "Create"))]
    patch = drift({"spec": {"selector": manifest["spec"]["selector"]}}, found.body())
    if found.terminating or not patch:
        return []
    reason = "the job has another cluster"
    return [Patch(uid=found.metadata.uid, patch=patch, reason=reason, **target(job, SERVICES, manifest, "Update"))]


def target(job: RayJob, resource: Resource, manifest: Any, verb: str) -> dict[str, Any]:
    return {
        "resource": resource,
        "namespace": job.metadata.namespace,
        "name": manifest["metadata"]["name"],
        "scope": SERVICE_SCOPE,
        "subject": NOUNS[resource],
        "event": "",
        "failed_event": f"FailedTo{verb}Service",
    }


def tear_down(observed: Observed, clusters: Iterable[RayCluster | Undecodable], reason: str) -> list[Action]:
    """These clusters of the job go, and its submitter."""
    going: list[Action] = [delete(RAYCLUSTERS, each, reason) for each in clusters if not each.metadata.deletion_timestamp]
    if observed.submitter is not None and not observed.submitter.terminating:
        going.append(delete(JOBS, observed.submitter, reason))
    return [each for each in going if not observed.held_back(each.scope)]


def delete(resource: Resource, found: Any, reason: str) -> Delete:
    noun = NOUNS[resource]
    is_submitter = resource == JOBS
    return Delete(
        resource=resource,
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        uid=found.metadata.uid,
        scope=f"delete/{resource.kind}",
        reason=reason,
        subject=noun,
        event="DeletedRayJobSubmitter" if is_submitter else "DeletedRayCluster",
        failed_event="FailedToDeleteRayJobSubmitter" if is_submitter else "FailedToDeleteRayCluster",
    )
