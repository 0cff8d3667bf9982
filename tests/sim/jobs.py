"""A quiet world with one RayJob, whose every write is judged, and stories of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS, Key
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.job_chaos import cluster_spec
from rayfleet.sim.job_rules import JobRules
from rayfleet.sim.job_storm import KINDS, NAME, job
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.leader import Pace
from rayfleet.sim.rays import Course, Life
from rayfleet.sim.store import Obj
from rayfleet.sim.world import NAMESPACE, World

BOOT = 8.0


class JobWorld(World):
    """Its Ray answers `BOOT` seconds after the head runs; a job runs for 20 s."""

    def __init__(self, seed: int = 1, pace: Pace | None = None, **config: Any) -> None:
        super().__init__(seed, pace=pace, kinds=KINDS, config=Configuration(**config))
        Invariants(self)
        self.rules = JobRules(self)
        self.rays.boot = lambda dice: BOOT

    def submit(self, **spec: Any) -> None:
        own = {} if "clusterSelector" in spec else {"rayClusterSpec": cluster_spec()}
        self.apply(job({"entrypoint": "python train.py", "submissionMode": "HTTPMode", **own, **spec}))

    def change(self, **spec: Any) -> None:
        self.edit(NAME, spec, RAYJOBS)

    def ends(self, *words: str) -> None:
        """How the next jobs end, the last of them for ever."""
        left = list(words)
        self.rays.course = lambda dice: Course(end=left.pop(0) if len(left) > 1 else left[0])

    @property
    def job(self) -> Obj:
        found = self.store.get(RAYJOBS, Key(NAMESPACE, NAME))
        assert found is not None
        return found

    @property
    def status(self) -> Obj:
        return dict(self.job.get("status") or {})

    @property
    def state(self) -> str:
        return str(self.status.get("jobDeploymentStatus", ""))

    @property
    def clusters(self) -> list[str]:
        return sorted(key_of(found).name for found in self.store.all(RAYCLUSTERS))

    @property
    def life(self) -> Life:
        found = self.rays.at(Key(NAMESPACE, self.status["rayClusterName"]))
        assert found is not None
        return found

    @property
    def runs(self) -> list[str]:
        return list(self.rules.ran)

    def until(self, holds: Callable[[], bool], seconds: float = 300.0) -> None:
        """Let time pass until this holds."""
        end = self.clock.elapsed + seconds
        while not holds():
            assert self.clock.elapsed < end, f"{self.state}: {self.status}"
            self.run(0.5)


@contextmanager
def job_world(**given: Any) -> Iterator[JobWorld]:
    made = JobWorld(**given)
    try:
        yield made
    finally:
        made.close()
