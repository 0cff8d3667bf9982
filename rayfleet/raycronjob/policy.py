"""What Kubernetes' CronJob has and KubeRay's does not, as annotations."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.labels import CONCURRENCY, FAILED_HISTORY, STARTING_DEADLINE, SUCCESSFUL_HISTORY
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.choices import one_of
from rayfleet.api.validation.ray_cron_job import ALLOW, POLICIES

ENDED = ("Complete", "Failed")


def policy_faults(meta: ObjectMeta) -> Iterator[Fault]:
    given = meta.annotation(CONCURRENCY)
    if given and given not in POLICIES:
        yield Fault(f"metadata.annotations[{CONCURRENCY}]", f"{shown(given)} is unknown", one_of(POLICIES))
    for name in (STARTING_DEADLINE, SUCCESSFUL_HISTORY, FAILED_HISTORY):
        given = meta.annotation(name)
        if given and not given.isdecimal():
            yield Fault(f"metadata.annotations[{name}]", f"{shown(given)} is no number", "it must be a whole number, 0 or more")


def concurrency(meta: ObjectMeta) -> str:
    return meta.annotation(CONCURRENCY) or ALLOW


def starting_deadline(meta: ObjectMeta) -> float | None:
    """Seconds after which a job that is due is not begun any more; None: whenever there is somebody to begin it."""
    given = meta.annotation(STARTING_DEADLINE)
    return float(given) if given else None


def surplus(meta: ObjectMeta, jobs: tuple[RayJob, ...]) -> Iterator[RayJob]:
    """Jobs that have ended, beyond the limits: the oldest. Without a limit all stay, as KubeRay leaves them."""
    for name, state in ((SUCCESSFUL_HISTORY, "Complete"), (FAILED_HISTORY, "Failed")):
        if given := meta.annotation(name):
            ended = [job for job in jobs if job.status.job_deployment_status == state and not job.metadata.deletion_timestamp]
            ended.sort(key=lambda job: (job.status.end_time or "", job.metadata.name))
            yield from ended[: max(len(ended) - int(given), 0)]


def active(job: RayJob) -> bool:
    return job.status.job_deployment_status not in ENDED
