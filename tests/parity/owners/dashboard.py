"""The Ray behind every head of a case: a job is PENDING for 1 s, RUNNING for 5 s and ends; an application is DEPLOYING for 3 s and runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.serve import HEALTH
from rayfleet.ray.serve import PATH as SERVE
from rayfleet.sim.ray_jobs import FakeRay
from rayfleet.sim.serve import FakeServe, Head
from tests.parity.canonical import Json

PENDING, RUNNING = 1.0, 5.0
LAST = 10**9  # of the outcomes the last one stands for all that follow


class Serve(FakeServe):
    """Deployments have the names that the config gives them."""

    def details(self, name: str, target: Target, head: Head, mood: str) -> dict[str, Any]:
        found = super().details(name, target, head, mood)
        for application in found["applications"].values():
            state = next(iter(application["deployments"].values()))
            application["deployments"] = {each["name"]: state for each in application["deployed_app_config"].get("deployments", ())}
        return found


@dataclass
class TimedRay(FakeRay):
    """`outcome()` is that of the next job, "" for one that runs on; `begun` says when each began."""

    outcome: Callable[[], str] = lambda: "SUCCEEDED"
    time: Callable[[], float] = lambda: 0.0
    begun: dict[str, tuple[float, str]] = field(default_factory=dict)

    def submit(self, body: Json) -> tuple[int, bytes]:
        status, content = super().submit(body)
        if status == 200:
            self.begun[body["submission_id"]] = (self.time(), self.outcome())
        return status, content

    def pass_time(self) -> None:
        for name, job in self.jobs.items():
            began, end = self.begun[name]
            age = self.time() - began
            if job["status"] not in ("PENDING", "RUNNING"):
                continue
            word = "PENDING" if age < PENDING else "RUNNING" if age < PENDING + RUNNING or not end else end
            job.update(status=word, message=f"pretend message for {word}", start_time=int(began * 1000))
            if word == end:
                job["end_time"] = int((began + PENDING + RUNNING) * 1000)


@dataclass
class Dashboard:
    """All heads of one case. `outcomes` are those of its jobs in order. What is told to Ray stands in `acts`, what it is asked is counted.

    `mood`: "" or `refuses submissions`, `hides jobs`, `errors` (of Serve), `no proxy`. `stuck`: the state in which applications stay of
    clusters that are not in `known`.
    """

    time: Callable[[], float]
    outcomes: tuple[str, ...] = ("SUCCEEDED",)
    mood: str = ""
    stuck: str = ""
    known: set[str] = field(default_factory=set)
    acts: list[str] = field(default_factory=list)
    gets: int = 0
    begun: int = 0
    heads: dict[str, str] = field(default_factory=dict)
    rays: dict[str, TimedRay] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.serve = Serve(self.time)

    async def answer(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        cluster = target.cluster.name
        self.heads[cluster] = target.pod
        if isinstance(call, Act):
            number = self.told.setdefault(cluster, len(self.told) + 1)
            self.acts.append(f"{call.method} {number} {call.path} {plain(call.body)}".strip())
        else:
            self.gets += 1
        if call.path == HEALTH:
            return (500, b"no") if self.mood == "no proxy" else (200, b"success")
        if call.path.startswith(SERVE):
            self.serve.moods[cluster] = "error" if self.mood == "errors" else ""
            if self.stuck and cluster not in self.known:
                self.serve.stuck[cluster] = self.stuck
            else:
                self.known.add(cluster)
            return await self.serve(target, call)
        return self.of_job(self.ray(target.pod), call)

    def of_job(self, ray: TimedRay, call: Question | Act) -> tuple[int, bytes]:
        ray.pass_time()
        if isinstance(call, Act):
            if self.mood == "refuses submissions":
                return 500, b"not now"
            return ray.post(call)
        if self.mood == "hides jobs" and call.path.startswith("/api/jobs/"):
            return 503, b"upstream connect error"
        return ray.get(call.path)

    def ray(self, pod: str) -> TimedRay:
        """That of one head Pod: another Pod knows nothing of what it was told."""
        if pod not in self.rays:
            self.rays[pod] = TimedRay(session=f"session_{pod}", outcome=self.next_outcome, time=self.time)
        return self.rays[pod]

    def next_outcome(self) -> str:
        self.begun += 1
        return self.outcomes[min(self.begun, len(self.outcomes)) - 1]

    def submit(self, pod: str, body: Json) -> None:
        """By somebody else than the operator. An id is taken once."""
        self.ids.add(body["submission_id"])
        self.ray(pod).submit(body)

    def word(self, pod: str, name: str) -> str:
        ray = self.ray(pod)
        ray.pass_time()
        return str(ray.jobs.get(name, {}).get("status", ""))


def plain(body: bytes) -> str:
    """As the recordings write a body: JSON without spaces, keys in order."""
    if not body:
        return ""
    return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))


class Dashboards:
    """An `Ask` for all cases of a stage, by namespace."""

    def __init__(self) -> None:
        self.of: dict[str, Dashboard] = {}

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        return await self.of[target.cluster.namespace].answer(target, call)
