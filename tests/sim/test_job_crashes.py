"""The operator killed at every request of a job's life, to the API and to Ray, before it leaves or after it is taken; every answer lost,
every refusal. The job comes to the same end, and runs as often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rayfleet.api.meta import PODS, RAYJOBS, Key
from rayfleet.sim.faults import KINDS
from rayfleet.sim.job_chaos import LIES
from rayfleet.sim.job_storm import NAME, left_over, unended
from rayfleet.sim.world import NAMESPACE
from tests.sim.jobs import JobWorld

OVER = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 5}
TIMES = {"dashboardURL", "startTime", "endTime", "rayJobInfo", "rayClusterStatus", "message", "jobStatusCheckFailureStartTime"}
PATIENCE = 400.0


def plain(**spec: Any) -> Callable[[JobWorld], None]:
    def story(world: JobWorld) -> None:
        world.submit(**spec)
        world.run(90.0)

    return story


def retried(world: JobWorld) -> None:
    world.ends("FAILED", "SUCCEEDED")
    world.submit(backoffLimit=1, **OVER)
    world.run(180.0)


def suspended(world: JobWorld) -> None:
    world.submit(**OVER)
    world.until(lambda: world.state == "Running")
    world.change(suspend=True)
    world.run(30.0)
    world.change(suspend=False)
    world.run(90.0)


def overdue(world: JobWorld) -> None:
    world.ends("SUCCEEDED")
    world.submit(activeDeadlineSeconds=20, **OVER)
    world.run(90.0)


def deleted(world: JobWorld) -> None:
    world.submit()
    world.run(20.0)
    world.delete(RAYJOBS, NAME)
    world.run(60.0)


def lied_to(mode: str) -> Callable[[JobWorld], None]:
    """Every lie for a while, from before the job is submitted until it has run."""

    def story(world: JobWorld) -> None:
        world.submit(submissionMode=mode, **OVER)
        world.until(lambda: bool(world.rays.lives))
        for lie in LIES.values():
            for answers in (lie, None):
                for life in world.rays.lives.values():
                    life.ray.lie = answers
                world.run(2.0)
        world.run(90.0)

    return story


STORIES: dict[str, Callable[[JobWorld], None]] = {
    "http": plain(**OVER),
    "submitter": plain(submissionMode="K8sJobMode", **OVER),
    "sidecar": plain(submissionMode="SidecarMode", **OVER),
    "retried": retried,
    "suspended": suspended,
    "overdue": overdue,
    "deleted": deleted,
    "lied to, http": lied_to("HTTPMode"),
    "lied to, submitter": lied_to("K8sJobMode"),
    "lied to, sidecar": lied_to("SidecarMode"),
}


def end_of(story: Callable[[JobWorld], None], at: tuple[int, str] | None) -> tuple[Any, int]:
    """What is there in the end and how often the job ran, and how many requests it took."""
    world = JobWorld()
    world.faults.at = at
    try:
        world.lead()
        story(world)
        waited = 0.0
        while (left := unmet(world)) and waited < PATIENCE:
            world.run(10.0)
            waited += 10.0
        assert left == []
        return picture(world), world.faults.requests
    finally:
        world.close()


def unmet(world: JobWorld) -> list[str]:
    job = world.store.get(RAYJOBS, Key(NAMESPACE, NAME))
    return [*unended(job), *left_over(world, job)] if job is not None else [pod["metadata"]["name"] for pod in world.store.all(PODS)]


def picture(world: JobWorld) -> Any:
    job = world.store.get(RAYJOBS, Key(NAMESPACE, NAME))
    status = {name: value for name, value in (job or {}).get("status", {}).items() if name not in TIMES}
    return status, world.clusters, len(world.runs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("story", STORIES)
def test_one_fault_at_any_request_changes_nothing_in_the_end(story: str, kind: str) -> None:
    wanted, requests = end_of(STORIES[story], None)
    for number in range(1, requests + 1):
        found, _ = end_of(STORIES[story], (number, kind))
        assert found == wanted, f"{kind} at request {number} of {requests}"
