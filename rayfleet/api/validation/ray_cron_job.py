"""What is wrong with a RayCronJob's name (rules: KubeRay, 1.6). Its schedule is judged by who can read it (`raycronjob.schedule`)."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault
from rayfleet.api.names import CRON_JOB_NAME_LIMIT
from rayfleet.api.validation.object_name import object_name_faults

ALLOW, FORBID, REPLACE = "Allow", "Forbid", "Replace"
POLICIES = (ALLOW, FORBID, REPLACE)
"""What becomes of a job that is due while the last one runs."""


def cron_name_faults(name: str) -> Iterator[Fault]:
    yield from object_name_faults(name, CRON_JOB_NAME_LIMIT, "jobs", "part of the name of a Service")
