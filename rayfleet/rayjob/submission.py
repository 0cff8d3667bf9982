"""What Ray is told of a try: the job, once, and to stop it.

Before an id may be submitted anywhere, the life of Ray in which it may be is on the object. In that life Ray itself takes an id but once;
in another one the id is never submitted again. In SidecarMode, where the head submits as soon as it can, it is the cluster's UID,
before which no head is made, and of no other cluster one is; and the head's name, once there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import JOBS, RAYJOBS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob, RayJobSpec
from rayfleet.api.validation.ray_job import HTTP, INTERACTIVE, SIDECAR
from rayfleet.planning.actions import Action, Create, Fence, Subject
from rayfleet.planning.plan import Call
from rayfleet.ray import jobs
from rayfleet.ray.answer import Accepted, Act, NotFound
from rayfleet.ray.jobs import Version
from rayfleet.rayjob.observed import Observed
from rayfleet.resources.submitter import submitter_job

SCOPE, STOP_SCOPE, SUBMITTER_SCOPE = "submission", "stop", "submitter"
STOP_AGAIN = 10.0  # seconds after a stop that Ray took over
SUBMITTER = Subject("submitter Job", "submitter Jobs")


def act_of(observed: Observed, job: RayJob) -> Act:
    """The submission, as HTTPMode sends it and as a submitter is given it."""
    return act_for(job.spec, job.status.job_id, observed.runtime_env)


def act_for(spec: RayJobSpec, job_id: str, runtime_env: Mapping[str, Any]) -> Act:
    """The submission of a spec whose `runtimeEnvYAML` says `runtime_env`."""
    fields = {
        "runtime_env": runtime_env,
        "metadata": spec.metadata,
        "entrypoint_num_cpus": spec.entrypoint_num_cpus,
        "entrypoint_num_gpus": spec.entrypoint_num_gpus,
        "entrypoint_resources": msgspec.json.decode(spec.entrypoint_resources) if spec.entrypoint_resources else {},
    }
    return jobs.submit(job_id, spec.entrypoint, **{name: value for name, value in fields.items() if value})


def plan_submission(observed: Observed, job: RayJob) -> tuple[list[Action], list[Call]]:
    """The next step towards a job that Ray knows; nothing while an answer is awaited."""
    session = session_of(observed)
    if job.spec.submission_mode in (SIDECAR, INTERACTIVE) or session is None:
        return [], []
    known = observed.submitted_to
    if known is None or known[0] != job.status.job_id:
        return ([] if observed.held_back(SCOPE) else [fence(job, session)]), []
    if known[1] != session:
        return [], []
    if job.spec.submission_mode == HTTP:
        return [], [call(observed, job)] if may_be_sent(observed) else []
    return submitter(observed, job, session), []


def unfenced(observed: Observed, job: RayJob) -> str:
    """What is to be said of a cluster that submits by itself: its UID, for which its head waits, and once that is there its name, too. ""
    when nothing is to be said."""
    known, cluster = observed.submitted_to, observed.cluster
    if job.spec.submission_mode != SIDECAR or cluster is None or cluster.metadata.deletion_timestamp or observed.held_back(SCOPE):
        return ""
    uid = cluster.metadata.uid
    is_told = known is not None and known == (job.status.job_id, uid)
    if known is not None and known[0] == job.status.job_id and not (is_told and observed.heads):
        return ""
    return f"{uid}/{observed.heads[0].name}" if observed.heads else uid


def session_of(observed: Observed) -> str | None:
    """The life of Ray that answers: "" where Ray does not say, None while it does not answer. Every Ray has a version: who knows of none
    is somebody else."""
    heard = observed.version
    if heard is None:
        return None
    return heard.answer.session_name if isinstance(heard.answer, Version) else None


def may_be_sent(observed: Observed) -> bool:
    """Has Ray said that it knows of no such job, in the life that answers now, and after whatever was sent before?"""
    word, version, before = observed.word, observed.version, observed.submitted
    if word is None or version is None or not isinstance(word.answer, NotFound) or observed.held_back(SCOPE):
        return False
    if before is not None and (isinstance(before.answer, Accepted) or word.at <= before.at):
        return False
    return before is None or version.at >= before.at


def fence(job: RayJob, session: str) -> Fence:
    meta = job.metadata
    return Fence(
        resource=RAYJOBS,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        annotations={labels.SUBMITTED_TO: f"{job.status.job_id} {session}"},
        scope=SCOPE,
        reason="its job is to be submitted in this life of Ray, and in no other",
    )


def call(observed: Observed, job: RayJob) -> Call:
    name = job.status.job_id
    return Call(
        observed.target,
        act_of(observed, job),
        SCOPE,
        f"Job {name} is not submitted",
        f"Submitted job {name}",
        event="SubmittedRayJob",
        failed_event="FailedToSubmitRayJob",
    )


def submitter(observed: Observed, job: RayJob, session: str) -> list[Action]:
    """The Job that submits, unless Ray has the job already or the Job was made before."""
    if observed.submitters or observed.held_back(SUBMITTER_SCOPE) or not isinstance(observed.cluster, RayCluster):
        return []
    manifest = submitter_job(job, observed.cluster, act_of(observed, job).body, session, observed.config)
    create = Create(
        resource=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        manifest=manifest,
        scope=SUBMITTER_SCOPE,
        reason="the cluster is ready",
        subject=SUBMITTER,
        event="CreatedRayJobSubmitter",
        failed_event="FailedToCreateRayJobSubmitter",
    )
    return [create]


def plan_stop(observed: Observed, job: RayJob) -> list[Call]:
    """Ray is told to stop the job, and again only when it did not hear it."""
    if not is_stoppable(observed) or observed.held_back(STOP_SCOPE):
        return []
    before = observed.stopped
    if before is not None and isinstance(before.answer, Accepted) and observed.now < before.at + STOP_AGAIN:
        return []
    name = job.status.job_id
    return [
        Call(
            observed.target,
            jobs.stop(name),
            STOP_SCOPE,
            f"Job {name} is not stopped",
            f"Stopped job {name}",
            event="",
            failed_event="FailedToStopRayJob",
        )
    ]


def is_stoppable(observed: Observed) -> bool:
    return observed.target is not None and observed.info is not None and not observed.info.terminal


def stop_settled(observed: Observed, job: RayJob) -> bool:
    """Need nobody wait for the job to stop any longer? A Ray that answers is told again where it did not hear it."""
    if observed.target is None or not job.status.job_id:
        return True
    if observed.word is None:
        return False
    return not is_stoppable(observed)


def stop_in_vain(observed: Observed) -> bool:
    """Was Ray told for the last time a while ago?"""
    return observed.stopped is not None and observed.now >= observed.stopped.at + STOP_AGAIN
