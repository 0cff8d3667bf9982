"""Everything that one decision on a RayJob may depend on, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.views import JobView, PodView, ServiceView
from rayfleet.planning.backoff import Backoff
from rayfleet.ray.answer import Heard, Target
from rayfleet.ray.jobs import STATUSES, JobInfo


@dataclass(frozen=True, slots=True)
class Observed:
    """`cluster` is the one of the present try: the job's own, or the one that is selected. `owned` are all clusters of the job,
    `submitters` its Jobs, `services` its Services, `heads` and `workers` the Pods of `cluster`, `submitting`
    those of `submitters`.

    `target` is where `cluster` is asked. `word` is what was last heard of the present submission id, `version` of Ray's life; `submitted`
    and `stopped` say what became of the last call that did that. `runtime_env` is the parsed `runtimeEnvYAML`, `env_faults` what is wrong
    with it.
    """

    job: RayJob | Undecodable
    now: float
    cluster: RayCluster | Undecodable | None = None
    owned: tuple[RayCluster | Undecodable, ...] = ()
    submitters: tuple[JobView, ...] = ()
    services: tuple[ServiceView, ...] = ()
    heads: tuple[PodView, ...] = ()
    workers: tuple[PodView, ...] = ()
    submitting: tuple[PodView, ...] = ()
    target: Target | None = None
    word: Heard | None = None
    version: Heard | None = None
    submitted: Heard | None = None
    stopped: Heard | None = None
    runtime_env: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    env_faults: tuple[Fault, ...] = ()
    backoffs: Mapping[str, Backoff] = field(default_factory=lambda: MappingProxyType({}))
    config: Configuration = field(default_factory=Configuration)

    @property
    def info(self) -> JobInfo | None:
        """What Ray says of the job, when it says something that is understood."""
        answer = self.word.answer if self.word else None
        return answer if isinstance(answer, JobInfo) and answer.status in STATUSES else None

    @property
    def submitter(self) -> JobView | None:
        """The Job that submits, by its name."""
        return next((job for job in self.submitters if job.name == self.job.metadata.name), None)

    @property
    def submitted_to(self) -> tuple[str, str] | None:
        """(submission id, Ray's session) that were written down before the submission; None when nothing was."""
        name, found, session = self.job.metadata.annotation(labels.SUBMITTED_TO).partition(" ")
        return (name, session) if found else None

    def held_back(self, scope: str) -> float:
        """Seconds until the scope may try again; 0 when it may now."""
        backoff = self.backoffs.get(scope)
        return max(backoff.retry_at - self.now, 0.0) if backoff else 0.0

    def next_try(self) -> float | None:
        """Seconds until the first scope that is held back may try again; None when none is."""
        return min((wait for scope in self.backoffs if (wait := self.held_back(scope)) > 0), default=None)
