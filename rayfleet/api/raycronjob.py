"""RayCronJob of `ray.io/v1`: a RayJob at set times."""

from __future__ import annotations

from typing import Annotated

from rayfleet.api.declare import Declared, Int64, Time, schema
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.rayjob import RayJobSpec


class RayCronJobSpec(Declared, frozen=True, gc=False, kw_only=True):
    """`schedule` has cron's five fields; `time_zone` is an IANA name, unset means the operator's zone."""

    schedule: Annotated[str, schema(required=True)] = ""
    time_zone: Annotated[str | None, schema(min_length=1)] = None
    suspend: bool = False
    job_template: Annotated[RayJobSpec, schema(required=True)] = RayJobSpec()


class RayCronJobStatus(Declared, frozen=True, gc=False, kw_only=True):
    """`observed_generation` is our addition: KubeRay's definition prunes it."""

    last_schedule_time: Time | None = None
    observed_generation: Int64 = 0


class RayCronJob(Declared, frozen=True, gc=False, kw_only=True):
    api_version: str = "ray.io/v1"
    kind: str = "RayCronJob"
    metadata: ObjectMeta = ObjectMeta()
    spec: RayCronJobSpec = RayCronJobSpec()
    status: RayCronJobStatus = RayCronJobStatus()
