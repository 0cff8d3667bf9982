"""What the operator would create for a RayJob if all went well: `rayfleet render`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode_cluster, decode_job
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import RayCluster, RayClusterStatus
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.actions import Create
from rayfleet.ray.answer import Heard, NotFound, Target
from rayfleet.ray.runtime_env import runtime_env
from rayfleet.rayjob.cluster import plan_service
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.plan import faults_of, plan

Obj = dict[str, Any]


def is_job(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") == "RayJob" and str(obj.get("apiVersion", "")).partition("/")[0] == "ray.io"


def typed_job(obj: Obj, uid: str) -> RayJob | Undecodable:
    """As it would come from an API server, with its finalizer."""
    meta = {**obj["metadata"], "uid": uid, "resourceVersion": "1", "generation": 1, "finalizers": [labels.JOB_FINALIZER]}
    return decode_job(msgspec.json.encode({**obj, "metadata": meta, "status": {}}))


def observed_job(job: RayJob | Undecodable, config: Configuration, now: float, **more: Any) -> Observed:
    env, faults = runtime_env(job.spec.runtime_env_yaml) if isinstance(job, RayJob) else ({}, ())
    return Observed(job, now, runtime_env=env, env_faults=faults, config=config, **more)


def job_faults(job: RayJob | Undecodable, config: Configuration, now: float) -> tuple[Fault, ...]:
    return faults_of(observed_job(job, config, now))


def job_children(job: RayJob, config: Configuration, now: float, uid: str) -> Iterator[Obj]:
    """The cluster, the submitter and the Service of the first try. `uid` is the cluster's. Nothing for a job that is suspended."""
    begun = plan(observed_job(job, config, now)).status
    if begun is None or "rayClusterName" not in begun.patch:
        return
    job = with_status(job, begun.patch)
    made = [action for action in plan(observed_job(job, config, now)).actions if isinstance(action, Create)]
    for create in made:
        yield dict(create.manifest)
    cluster = ready(made[0].manifest, uid) if made else None
    if cluster is None:
        return
    job = submitting(job)
    target, nothing, version = Target(cluster.metadata.key, ""), Heard(NotFound(), now, now), Heard(NotFound(), now, now)
    there = observed_job(job, config, now, cluster=cluster, owned=(cluster,), target=target, word=nothing, version=version)
    for action in (*plan(there).actions, *plan_service(there, job)):
        if isinstance(action, Create):
            yield dict(action.manifest)


def with_status(job: RayJob, patch: Mapping[str, Any]) -> RayJob:
    return msgspec.structs.replace(job, status=msgspec.convert(dict(patch), type(job.status)))


def submitting(job: RayJob) -> RayJob:
    """The job with the mark that stands on it before its submission; nobody knows yet in which life of Ray that will be."""
    notes = {**(job.metadata.annotations or {}), labels.SUBMITTED_TO: f"{job.status.job_id} "}
    return msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, annotations=notes))


def ready(manifest: Mapping[str, Any], uid: str) -> RayCluster:
    found = decode_cluster(msgspec.json.encode({**manifest, "metadata": {**manifest["metadata"], "uid": uid}}))
    assert isinstance(found, RayCluster)
    return msgspec.structs.replace(found, status=RayClusterStatus(state="ready"))
