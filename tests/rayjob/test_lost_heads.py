"""Heads that are lost while a job runs, and come back late, elsewhere, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.labels import SUBMITTED_TO
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.job_life import KEY, Life, cluster_spec
from rayfleet.sim.ray_jobs import FakeRay
from tests.rayjob.test_modes import run


def lose_head(life: Life, name: str) -> dict[str, Any]:
    """Its Pod, its address, and what Ray knew; returns the status that the cluster had."""
    status: dict[str, Any] = life.objects[RAYCLUSTERS, name]["status"]
    gone = {"type": "HeadPodReady", "status": "False", "reason": "HeadPodNotFound", "lastTransitionTime": rfc3339(life.now)}
    life.objects[RAYCLUSTERS, name]["status"] = {"state": "", "head": {}, "conditions": [gone]}
    life.ray.begin_anew()
    return status


@pytest.mark.parametrize("told", [True, False])
def test_a_head_that_does_not_come_back_ends_the_try_within_five_minutes_also_over_restarts(told: bool) -> None:
    life = run(submissionMode="HTTPMode")
    name = life.status["rayClusterName"]
    lose_head(life, name)
    if not told:
        life.objects[RAYCLUSTERS, name]["status"]["conditions"] = []
    for _ in range(6):
        assert life.state == "Running"
        life.live(49)
        life.crash()
    life.live(15)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "JobStatusCheckTimeoutExceeded")
    assert "no head" in life.status["message"]


def test_on_a_cluster_of_another_whose_head_is_lost_the_job_is_looked_after_until_it_is_lost() -> None:
    life = Life(submissionMode="HTTPMode", clusterSelector={"ray.io/cluster": "shared"})
    head = {"podIP": "10.0.0.9", "podName": "shared-head"}
    shared = {"metadata": {"name": "shared", "namespace": KEY.namespace, "uid": "s"}, "spec": cluster_spec()}
    life.put(RAYCLUSTERS, shared | {"status": {"state": "ready", "head": head}})
    life.rays["shared"] = FakeRay()
    life.live(8)
    assert life.state == "Running"
    before = lose_head(life, "shared")
    for _ in range(10):
        made = life.look()
        assert made is not None and made.requeue_after is not None and made.requeue_after <= 3.0, "nobody else calls"
        life.live(2)
    life.objects[RAYCLUSTERS, "shared"]["status"] = before
    life.live(40)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "JobRecordLost")
    assert "jobStatusCheckFailureStartTime" not in life.status


def sidecar(**spec: Any) -> Life:
    """A cluster that is there and has no head yet."""
    life = Life(submissionMode="SidecarMode", **spec)
    life.ready_in = None
    return life.live(3)


def test_beside_the_head_the_job_names_its_cluster_before_there_is_a_head_and_then_the_head() -> None:
    life = sidecar()
    name = life.status["rayClusterName"]
    uid = life.objects[RAYCLUSTERS, name]["metadata"]["uid"]
    assert life.job["metadata"]["annotations"][SUBMITTED_TO] == f"{life.status['jobId']} {uid}"
    life.live(120)
    assert life.state == "Initializing", "a head that is yet to come is not lost"
    life.ready_in = 1.0
    life.live(3)
    assert life.job["metadata"]["annotations"][SUBMITTED_TO] == f"{life.status['jobId']} {uid}/{name}-head"


@pytest.mark.parametrize(("retries", "state"), [(0, "Failed"), (1, "Retrying")])
def test_a_cluster_that_goes_before_anybody_saw_its_head_may_have_run_the_job(retries: int, state: str) -> None:
    life = sidecar(backoffLimit=retries)
    name, number = life.status["rayClusterName"], len(life.writes)
    life.remove(RAYCLUSTERS, name)
    life.crash()
    life.live(1)
    assert (life.state, life.status["reason"], life.status["failed"]) == (state, "ClusterLost", 1)
    assert not any("RayCluster" in write for write in life.writes[number:])
    life.ready_in = 1.0
    life.live(30)
    assert life.clusters() == [] if not retries else life.clusters() == [life.status["rayClusterName"]] != [name]


def test_a_cluster_that_goes_before_the_job_named_it_never_had_a_head_and_is_made_again() -> None:
    life = Life(submissionMode="SidecarMode")
    while not life.clusters():
        life.look()
    name = life.status["rayClusterName"]
    life.remove(RAYCLUSTERS, name)
    life.live(8)
    assert (life.state, life.clusters(), len(life.runs)) == ("Running", [name], 1)


def test_another_cluster_of_the_same_name_is_not_the_one_that_the_job_named() -> None:
    life = sidecar()
    life.objects[RAYCLUSTERS, life.status["rayClusterName"]]["metadata"]["uid"] = "another"
    life.live(2)
    assert (life.state, life.status["reason"], life.runs) == ("Failed", "ClusterLost", [])
