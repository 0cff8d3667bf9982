"""Ray on every head that runs: each start of its container is another life of it, which knows nothing of the one before.

Jobs begin and end by themselves, as their `course` is drawn. What is asked goes to whichever head of the cluster answers now, as through
its Service, whatever the asker knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import PODS, Key
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.ray_jobs import FakeRay
from rayfleet.sim.serve import FakeServe
from rayfleet.sim.store import TERMINAL, Change, Obj, Store

JOBS_PATHS = ("/api/jobs/", "/api/version")
TIMEOUT = 5.0  # seconds after which an asker does not wait any longer (`ray.http.DEADLINE`)


@dataclass
class Life:
    """One start of a head. `pod` is its UID; until `up` (seconds since 1970) its dashboard does not answer."""

    cluster: Key
    pod: str
    ray: FakeRay
    up: float
    slow: float = 0.0


@dataclass(frozen=True)
class Course:
    """What becomes of a job: seconds until it runs, until it has ended, and how."""

    starts: float = 1.0
    runs: float = 20.0
    end: str = "SUCCEEDED"


class Rays:
    """`boot(dice)` is how long a dashboard takes to answer, `course(dice)` what becomes of the next job. `submitted` hears of each job that
    begins: (life, submission id)."""

    def __init__(self, clock: VirtualClock, store: Store, dice: Random) -> None:
        self.clock = clock
        self.store = store
        self.dice = dice
        self.boot: Callable[[Random], float] = lambda dice: 0.0
        self.course: Callable[[Random], Course] = lambda dice: Course()
        self.lives: dict[str, Life] = {}
        self.begun = 0
        self.submitted: list[Callable[[Life, str], None]] = []
        self.serve = FakeServe(lambda: clock.now, sleep=clock.sleep)

    def hear(self, change: Change) -> None:
        if change.resource != PODS or (change.new["metadata"].get("labels") or {}).get(labels.NODE_TYPE) != labels.HEAD:
            return
        pod = change.new
        uid, lives = pod["metadata"]["uid"], change.type != "DELETED" and runs(pod)
        if not lives:
            self.end(uid)
        elif uid not in self.lives:
            self.begin(pod)

    def begin(self, pod: Obj) -> None:
        meta, self.begun = pod["metadata"], self.begun + 1
        cluster = next((each["name"] for each in meta.get("ownerReferences") or () if each["kind"] == "RayCluster"), "")
        ray = FakeRay(session=f"session_{self.begun}")
        self.lives[meta["uid"]] = Life(Key(meta["namespace"], cluster), meta["uid"], ray, self.clock.now + self.boot(self.dice))

    def end(self, uid: str) -> None:
        if (life := self.lives.pop(uid, None)) is not None:
            life.ray.alive = False
            self.serve.heads.pop(uid, None)

    def at(self, cluster: Key) -> Life | None:
        """The latest head of the cluster that runs."""
        return next((life for life in reversed(self.lives.values()) if life.cluster == cluster), None)

    async def ask(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        """Status and body. Raises OSError."""
        life = self.at(target.cluster)
        if life is None or self.clock.now < life.up:
            raise OSError("nobody is there")
        if life.slow:
            await self.clock.sleep(min(life.slow, TIMEOUT))
            if life.slow > TIMEOUT:
                raise TimeoutError("no answer within 5 s")
        if call.path.startswith(JOBS_PATHS):
            return self.answer(life, call)
        return await self.serve(Target(target.cluster, target.service, target.address, pod=life.pod), call)

    def answer(self, life: Life, call: Question | Act) -> tuple[int, bytes]:
        """Of the jobs API. Raises OSError."""
        before = len(life.ray.runs)
        try:
            return life.ray.answer(call)
        finally:
            for name in life.ray.runs[before:]:
                life.ray.jobs[name].update(start_time=int(self.clock.now * 1000))
                for hear in self.submitted:
                    hear(life, name)
                self.clock.spawn(self.go_on(life.ray, name, self.course(self.dice)))

    def submit(self, life: Life, name: str) -> None:
        """As somebody does by hand."""
        with suppress(OSError):
            self.answer(life, Act("POST", "/api/jobs/", msgspec.json.encode({"submission_id": name})))

    def go_on(self, ray: FakeRay, name: str, course: Course) -> Iterator[float]:
        for seconds, word in ((course.starts, "RUNNING"), (course.runs, course.end)):
            yield seconds
            job: dict[str, Any] = ray.jobs.get(name) or ray.hidden.get(name) or {}
            if job.get("status") in ("PENDING", "RUNNING"):
                job.update(status=word, message=f"the job is {word}")
                if word != "RUNNING":
                    job.update(end_time=int(self.clock.now * 1000))


def runs(pod: Obj) -> bool:
    """Does its Ray container?"""
    status = pod["status"]
    containers = status.get("containerStatuses") or ({},)
    return status.get("phase") == "Running" and status["phase"] not in TERMINAL and "terminated" not in containers[0].get("state", {})
