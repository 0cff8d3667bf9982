"""Tries that are over, as the annotation `rayfleet.dev/tries` remembers them: their number is part of the next one's names."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rayfleet.api.decode import Undecodable
from rayfleet.api.labels import RETRY_POLICY, TRIES
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import INTERACTIVE, SAME_CLUSTER
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import State

REMEMBERED = 20


class Try(NamedTuple):
    """`number` counts from 0; `start_time` is RFC 3339."""

    number: int
    cluster: str
    submission_id: str
    start_time: str


def parse_tries(meta: ObjectMeta) -> tuple[Try, ...]:
    """The last tries that are over, the latest at the end. A text that somebody spoilt counts as none."""
    try:
        return msgspec.json.decode(meta.annotation(TRIES) or "[]", type=tuple[Try, ...])
    except msgspec.MsgspecError:
        return ()


def named_id(job: RayJob) -> str:
    """The submission id that the user gives. In InteractiveMode one of a try that is over is no longer meant."""
    used = {each.submission_id for each in parse_tries(job.metadata)}
    return "" if job.spec.submission_mode == INTERACTIVE and job.spec.job_id in used else job.spec.job_id


def goes_on(observed: Observed, job: RayJob) -> bool:
    """May the next try run on the cluster of the last one? Only on one that lives."""
    cluster = observed.cluster
    if job.metadata.annotation(RETRY_POLICY) != SAME_CLUSTER or job.status.job_deployment_status != State.RETRYING:
        return False
    return isinstance(cluster, RayCluster) and not cluster.metadata.deletion_timestamp


def left_over(observed: Observed, job: RayJob) -> tuple[RayCluster | Undecodable, ...]:
    """The clusters of the job that the next try has no use for."""
    kept = job.status.ray_cluster_name if goes_on(observed, job) else ""
    return tuple(each for each in observed.owned if each.metadata.name != kept)


def written(tries: tuple[Try, ...]) -> str:
    return msgspec.json.encode(tries[-REMEMBERED:]).decode()


def next_number(tries: tuple[Try, ...]) -> int:
    return tries[-1].number + 1 if tries else 0
