"""Ray's Jobs API (reference: Ray, C; https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from rayfleet.ray.answer import Act, Question

TERMINAL = frozenset({"STOPPED", "SUCCEEDED", "FAILED"})
STATUSES = TERMINAL | {"PENDING", "RUNNING"}
KEPT = 4096  # characters of a message


class JobInfo(msgspec.Struct, frozen=True):
    """What Ray says of one job. Times are in milliseconds since 1970, 0 when unknown. Of a message the end is kept: what programs print may
    be long, and is held for every job."""

    status: str
    submission_id: str | None = None
    job_id: str | None = None
    entrypoint: str = ""
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    driver_exit_code: int | None = None

    def __post_init__(self) -> None:
        if self.message and len(self.message) > KEPT:
            msgspec.structs.force_setattr(self, "message", self.message[-KEPT:])

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL


class Version(msgspec.Struct, frozen=True):
    """`session_name` is another one in each life of Ray's control store ("": this version of Ray does not say)."""

    ray_version: str
    session_name: str = ""


VERSION = Question("/api/version", Version, lasting=True)


def job(submission_id: str) -> Question:
    """JobInfo, or NotFound."""
    return Question(f"/api/jobs/{quote(submission_id, safe='')}", JobInfo)


def submit(submission_id: str, entrypoint: str, **fields: Any) -> Act:
    """Ray takes an id once, and answers a second submit with a 500.

    `fields` as the API names them: runtime_env, metadata, entrypoint_num_cpus, entrypoint_num_gpus, entrypoint_resources.
    """
    body: Mapping[str, Any] = {"entrypoint": entrypoint, "submission_id": submission_id, **fields}
    return Act("POST", "/api/jobs/", msgspec.json.encode(body), done_before="already exists")


def submits(act: Act, submission_id: str) -> bool:
    """Is it the submission of that job? The id stands between quotes that no text of a user's can hold."""
    return b'"submission_id":' + msgspec.json.encode(submission_id) in act.body


def stop(submission_id: str) -> Act:
    """Ray stops a job some seconds later; asking for its status tells when."""
    return Act("POST", f"/api/jobs/{quote(submission_id, safe='')}/stop")
