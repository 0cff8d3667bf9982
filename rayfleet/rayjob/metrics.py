"""What KubeRay's boards and alerts read of RayJobs, under its names (reference: KubeRay, 5.3). Made from the objects at each scrape."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.api.decode import Undecodable
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.gauge import Gauge
from rayfleet.rayjob.deadlines import time_of
from rayfleet.rayjob.states import State

Sample = tuple[tuple[str, ...], float]
OBJECT = ("name", "namespace", "uid")
INFO = ("kuberay_job_info", "Metadata of RayJobs", OBJECT)
STATUS = ("kuberay_job_deployment_status", "The RayJob's jobDeploymentStatus", (*OBJECT, "deployment_status"))
DURATION = (
    "kuberay_job_execution_duration_seconds",
    "Seconds from the beginning of a RayJob's last try to its end; retry_count: how many tries went before it",
    (*OBJECT, "job_deployment_status", "retry_count"),
)
ENDED = (State.COMPLETE, State.FAILED, State.RETRYING)


def measure(jobs: Iterable[RayJob | Undecodable]) -> tuple[Gauge, ...]:
    infos: list[Sample] = []
    states: list[Sample] = []
    durations: list[Sample] = []
    for job in jobs:
        meta = job.metadata
        labels = (meta.name, meta.namespace, meta.uid)
        infos.append((labels, 1.0))
        if isinstance(job, Undecodable):
            continue
        status = job.status
        states.append(((*labels, status.job_deployment_status), 1.0))
        begun, over = time_of(status.start_time), time_of(status.end_time)
        if status.job_deployment_status in ENDED and begun and over:
            before = status.failed - (status.job_deployment_status != State.COMPLETE)
            durations.append(((*labels, status.job_deployment_status, str(max(before, 0))), over - begun))
    return Gauge(*INFO, infos), Gauge(*STATUS, states), Gauge(*DURATION, durations)
