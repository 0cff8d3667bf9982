"""What an operator took down for what its owner said a while ago would not come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Key
from rayfleet.raycronjob import plan as cron_plan
from rayfleet.rayjob import plan as job_plan
from rayfleet.rayservice import plan as service_plan
from rayfleet.sim.cron_storm import KINDS as CRON_KINDS
from rayfleet.sim.rays import Course
from rayfleet.sim.serve_storm import KINDS, NAME, service
from rayfleet.sim.world import NAMESPACE, World
from tests.sim.jobs import job_world

POLICY = "rayfleet.dev/concurrency-policy"


def suspension_taken_back() -> str:
    """The operator hears of a suspension when it is over. The cluster, "" when it was taken down."""
    world = World(1, kinds=KINDS)
    try:
        world.apply(service())
        leader = world.lead()
        world.run(30.0)
        before = [found["metadata"]["uid"] for found in world.store.all(RAYCLUSTERS)]
        leader.watches[RAYSERVICES].lag = lambda: 3.0
        world.edit(NAME, {"suspend": True}, RAYSERVICES)
        world.run(1.0)
        world.edit(NAME, {"suspend": False}, RAYSERVICES)
        world.run(30.0)
        return ", ".join(found["metadata"]["uid"] for found in world.store.all(RAYCLUSTERS) if found["metadata"]["uid"] in before)
    finally:
        world.close()


def cluster_that_is_to_stay_longer() -> list[str]:
    """The operator hears late that the user wants to keep the cluster of a job that has ended. The clusters that are left."""
    with job_world() as world:
        leader = world.lead()
        world.submit(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=20)
        world.until(lambda: world.state == "Complete")
        world.run(5.0)
        leader.watches[RAYJOBS].stall(60.0)
        world.change(ttlSecondsAfterFinished=600)
        world.run(30.0)
        return world.clusters


def job_that_may_go_on() -> list[str]:
    """The operator hears late that the next job is to run beside the last one. The jobs that are left."""
    world = World(1, kinds=CRON_KINDS, config=Configuration(feature_gates={"RayCronJob": True}))
    try:
        world.rays.course = lambda dice: Course(runs=5000.0)
        template = {"entrypoint": "true", "rayClusterSpec": service()["spec"]["rayClusterConfig"], "submissionMode": "HTTPMode"}
        meta = {"name": "often", "namespace": NAMESPACE, "annotations": {POLICY: "Replace"}}
        spec = {"schedule": "*/10 * * * *", "jobTemplate": template}
        world.apply({"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": meta, "spec": spec})
        leader = world.lead()
        world.run(1190.0)
        leader.watches[RAYCRONJOBS].stall(60.0)
        world.user("patch", RAYCRONJOBS, Key(NAMESPACE, "often"), body={"metadata": {"annotations": {POLICY: "Allow"}}})
        world.run(60.0)
        return sorted(found["metadata"]["name"] for found in world.store.all(RAYJOBS))
    finally:
        world.close()


def test_a_suspension_that_was_taken_back_takes_nothing_down() -> None:
    assert suspension_taken_back()


def test_a_cluster_that_is_to_stay_longer_stays() -> None:
    assert cluster_that_is_to_stay_longer()


def test_a_job_that_may_go_on_is_not_replaced() -> None:
    assert len(job_that_may_go_on()) == 2


@pytest.mark.parametrize(
    ("kind", "story"),
    [(service_plan, suspension_taken_back), (job_plan, cluster_that_is_to_stay_longer), (cron_plan, job_that_may_go_on)],
)
def test_without_the_question_each_goes_wrong(kind: Any, story: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    well = story()
    monkeypatch.setattr(kind, "asked_first", lambda resource, meta, actions, held_back: list(actions))
    assert story() != well
