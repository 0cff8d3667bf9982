"""Reads what a RayJob's decisions depend on: the caches, and what Ray was last heard to say. Decides nothing but whom to ask what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.labels import CLUSTER, SUBMISSION_MODE, SUBMITTED_TO
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS, SERVICES, Key
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import HTTP, K8S_JOB, SIDECAR
from rayfleet.planning.reader import Reader
from rayfleet.ray import jobs
from rayfleet.ray.answer import Act, Heard, Question, Target
from rayfleet.ray.runtime_env import runtime_env
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import POLLED, State
from rayfleet.resources import auth
from rayfleet.resources.pod_template import head_service_of
from rayfleet.resources.services import dashboard_port


class Desk(Protocol):
    """The part of `ray.pool.Desk` that is used here."""

    def follow(self, key: Key, target: Target, questions: Any) -> Mapping[Question, Heard]: ...

    def results(self, key: Key, cluster: Key) -> Mapping[Act, Heard]: ...

    def forget(self, key: Key) -> None: ...


class Observer:
    """Observes with one configuration, and asks by one desk."""

    def __init__(self, config: Configuration, desk: Desk) -> None:
        self.config = config
        self.desk = desk

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        job = reader.get(RAYJOBS, key)
        if job is None:
            return None
        uid, read = job.metadata.uid, isinstance(job, RayJob)
        owned = tuple(reader.owned(RAYCLUSTERS, uid))
        cluster = cluster_of(reader, job, owned) if read else None
        job = in_mode_of(job, cluster) if read else job
        target = target_of(job, cluster, self.config) if read else None
        heard = self.ask(key, job, cluster, target)
        pods = reader.owned(PODS, cluster.metadata.uid) if cluster is not None else ()
        submitters = tuple(reader.owned(JOBS, uid))
        env, env_faults = runtime_env(job.spec.runtime_env_yaml) if read else ({}, ())
        return Observed(
            job=job,
            now=now,
            cluster=cluster,
            owned=owned,
            submitters=submitters,
            services=tuple(reader.owned(SERVICES, uid)),
            heads=tuple(pod for pod in pods if pod.is_head),
            workers=tuple(pod for pod in pods if pod.is_worker),
            submitting=tuple(pod for each in submitters for pod in reader.owned(PODS, each.metadata.uid)),
            target=target,
            word=heard.get("word"),
            version=heard.get("version"),
            submitted=heard.get("submitted"),
            stopped=heard.get("stopped"),
            runtime_env=env,
            env_faults=env_faults,
            backoffs=reader.backoffs(key),
            config=self.config,
        )

    def ask(self, key: Key, job: Any, cluster: Any, target: Target | None) -> dict[str, Heard]:
        """What was heard, by what it is about. Who has nothing to hear is not asked."""
        questions = questions_of(job, cluster) if target is not None else ()
        if target is None or not questions:
            self.desk.forget(key)
            return {}
        heard = self.desk.follow(key, target, questions)
        results = self.desk.results(key, target.cluster)
        stop = jobs.stop(job.status.job_id)
        found = {
            "word": heard.get(jobs.job(job.status.job_id)),
            "version": heard.get(jobs.VERSION),
            "stopped": results.get(stop),
            "submitted": next((result for act, result in results.items() if jobs.submits(act, job.status.job_id)), None),
        }
        return {name: value for name, value in found.items() if value is not None}


def cluster_of(reader: Reader, job: RayJob, owned: tuple[Any, ...]) -> Any:
    """The cluster of the present try. One of another owner is ours only when it was selected."""
    if name := job.spec.cluster_selector.get(CLUSTER):
        return reader.get(RAYCLUSTERS, Key(job.metadata.namespace, name))
    return next((each for each in owned if each.metadata.name == job.status.ray_cluster_name), None)


def in_mode_of(job: RayJob, cluster: Any) -> RayJob:
    """A try is submitted in the way for which its cluster was made: an edit of the mode is for the next one."""
    made_for = cluster.metadata.label(SUBMISSION_MODE) if cluster is not None and not job.spec.cluster_selector else ""
    if made_for in ("", job.spec.submission_mode):
        return job
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, submission_mode=made_for))


def target_of(job: RayJob, cluster: Any, config: Configuration) -> Target | None:
    """None while there is no head to be asked."""
    if not isinstance(cluster, RayCluster) or not cluster.status.head.pod_ip:
        return None
    return Target(
        cluster.metadata.key,
        head_service_of(cluster),
        cluster.status.head.pod_ip,
        dashboard_port(cluster),
        auth.shown_secret(cluster, config),
        cluster.status.head.pod_name,
    )


def questions_of(job: RayJob, cluster: RayCluster) -> tuple[Question, ...]:
    """How the job is, and before it is submitted in which life of Ray that would be. A job that waits or has ended is not asked for, nor is
    one that nobody may have submitted yet."""
    state, name = job.status.job_deployment_status, job.status.job_id
    going = bool(job.metadata.deletion_timestamp) and state not in (State.COMPLETE, State.FAILED)
    if not name or (state not in POLLED and not going):
        return ()
    if state == State.INITIALIZING and not going:
        asked = cluster.status.state == "ready" or job.spec.submission_mode == SIDECAR
        return () if not asked else (jobs.VERSION,) if is_to_be_submitted(job) else (jobs.VERSION, jobs.job(name))
    return (jobs.job(name),)


def is_to_be_submitted(job: RayJob) -> bool:
    """Is it us who have it submitted, and is it not on the object yet in which life of Ray?"""
    written = job.metadata.annotation(SUBMITTED_TO).partition(" ")[0] == job.status.job_id
    return job.spec.submission_mode in (HTTP, K8S_JOB) and not written
