"""How often a job is submitted, when, and for how long that is waited for: rows of report B5 that no other test spells out."""

from __future__ import annotations

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import JOBS, RAYCLUSTERS
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.job_life import KEY, Life


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_program_that_fails_is_run_once_unless_retries_are_asked_for(mode: str) -> None:
    """Report B5, 70 (k#2376, k#2058): also where the submitter's own Job may try again, which is about submitting."""
    life = Life(submissionMode=mode).live(5)
    life.ray.turn("FAILED")
    life.live(120)
    assert (life.state, life.status["failed"], len(life.runs)) == ("Failed", 1, 1)


def test_a_submitter_beside_the_head_that_fails_before_the_cluster_is_ready_ends_the_try_and_frees_the_cluster() -> None:
    """Report B5, 73 (k#4945)."""
    life = Life(submissionMode="SidecarMode", shutdownAfterJobFinishes=True)
    life.beside_the_head = lambda name: None  # type: ignore[method-assign]
    life.live(4)
    cluster = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]
    cluster["status"] |= {"state": "", "conditions": []}
    life.put(RAYCLUSTERS, cluster)
    head = life.objects[next(key for key in life.objects if key[1].endswith("-head"))]
    head["status"]["containerStatuses"][1] |= {"state": {"terminated": {"exitCode": 1, "finishedAt": rfc3339(life.now)}}}
    life.live(10)
    assert (life.state, life.status["reason"], life.clusters()) == ("Failed", "SubmissionFailed", [])


def test_the_time_of_a_user_who_is_to_submit_begins_when_there_is_something_to_submit_to() -> None:
    """Report B5, 77 (k#5193): of 60 s the start takes 50."""
    life = Life(submissionMode="InteractiveMode", entrypoint="", preRunningDeadlineSeconds=60)
    life.ready_in = 50
    life.live(100)
    assert life.state == "Waiting"
    life.live(20)
    assert (life.state, life.status["reason"]) == ("Failed", "PreRunningDeadlineExceeded")


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_nothing_is_submitted_while_the_head_is_not_ready(mode: str) -> None:
    """Report B5, 79 (k#4760): all was ready once, and the head is not now."""
    life = Life(submissionMode=mode)
    life.ready_in = None
    life.live(2)
    cluster = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]
    once = {"type": "RayClusterProvisioned", "status": "True", "lastTransitionTime": rfc3339(life.now)}
    head = {"podIP": "10.0.0.1", "podName": "one", "serviceName": "one-svc"}
    cluster["status"] = {"head": head, "conditions": [once, {"type": "HeadPodReady", "status": "False", "reason": "ContainersNotReady"}]}
    life.put(RAYCLUSTERS, cluster)
    life.live(60)
    assert (life.state, life.runs, (JOBS, KEY.name) in life.objects) == ("Initializing", [], False)
    cluster["status"]["state"] = "ready"
    life.put(RAYCLUSTERS, cluster)
    life.live(10)
    assert (life.state, len(life.runs)) == ("Running", 1)


def test_a_selected_cluster_and_a_gang_scheduler_get_on() -> None:
    """Report B5, 83 (k#4102): there is no `rayClusterSpec` to be looked into."""
    life = Life(clusterSelector={"ray.io/cluster": "shared"}, config=Configuration(batch_scheduler="volcano"))
    life.live(10)
    assert (life.state, life.status["message"]) == ("Initializing", "there is no RayCluster shared")
