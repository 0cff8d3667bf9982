"""What is wrong with a RayCronJob's name (rules: KubeRay, 1.6). Its schedule is judged by who can read it (`raycronjob.schedule`)."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.names import CRON_JOB_NAME_LIMIT, DNS_1035


def cron_name_faults(name: str) -> Iterator[Fault]:
    if len(name) > CRON_JOB_NAME_LIMIT:
        because = "longer names would not fit the names of its jobs"
        yield Fault("metadata.name", f"{shown(name)} has {len(name)} characters", f"at most {CRON_JOB_NAME_LIMIT} are allowed, {because}")
    if not DNS_1035.fullmatch(name):
        rule = "it must start with a lower-case letter, end with a letter or digit, and hold only lower-case letters, digits and hyphens"
        yield Fault("metadata.name", f"{shown(name)} cannot be part of the name of a Service", rule)
