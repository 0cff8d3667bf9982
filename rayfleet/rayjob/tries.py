"""Tries that are over, as the annotation `rayfleet.dev/tries` remembers them: their number is part of the next one's names."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rayfleet.api.labels import TRIES
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_job import INTERACTIVE

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


def written(tries: tuple[Try, ...]) -> str:
    return msgspec.json.encode(tries[-REMEMBERED:]).decode()


def next_number(tries: tuple[Try, ...]) -> int:
    return tries[-1].number + 1 if tries else 0
