"""Reads what a RayCronJob's decisions depend on from the caches. Decides nothing."""

from __future__ import annotations

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCRONJOBS, RAYJOBS, Key
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.planning.reader import Reader
from rayfleet.ray.runtime_env import runtime_env
from rayfleet.raycronjob.observed import Observed


class Observer:
    """Observes with one configuration."""

    def __init__(self, config: Configuration) -> None:
        self.config = config

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        cron = reader.get(RAYCRONJOBS, key)
        if cron is None:
            return None
        faults = runtime_env(cron.spec.job_template.runtime_env_yaml)[1] if isinstance(cron, RayCronJob) else ()
        jobs = tuple(reader.owned(RAYJOBS, cron.metadata.uid))
        return Observed(cron, now, jobs, faults, reader.backoffs(key), self.config)
