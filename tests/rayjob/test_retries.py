"""Retries on the cluster that lives (`rayfleet.dev/retry-policy: SameCluster`): counted, once a try, and on no cluster that is lost."""

from __future__ import annotations

import pytest

from rayfleet.api.labels import RETRY_POLICY
from rayfleet.api.meta import JOBS, RAYCLUSTERS
from rayfleet.sim.job_life import KEY, Life, cluster_spec
from rayfleet.sim.ray_jobs import FakeRay

SAME = {RETRY_POLICY: "SameCluster"}


def run(**spec: object) -> Life:
    life = Life(annotations=dict(SAME), **spec).live(4)
    life.ray.turn("RUNNING")
    return life.live(3)


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_retry_runs_on_the_same_cluster_under_another_id(mode: str) -> None:
    life = run(submissionMode=mode, backoffLimit=1)
    first, uid = life.status, life.objects[RAYCLUSTERS, life.status["rayClusterName"]]["metadata"]["uid"]
    life.ray.turn("FAILED")
    life.live(20)
    life.ray.turn("RUNNING")
    life.live(3)
    assert (life.state, life.status["jobStatus"], life.status["failed"]) == ("Running", "RUNNING", 1)
    assert life.status["jobId"] != first["jobId"] and life.runs == [first["jobId"], life.status["jobId"]]
    assert life.objects[RAYCLUSTERS, first["rayClusterName"]]["metadata"]["uid"] == uid and len(life.clusters()) == 1
    life.ray.turn("FAILED")
    life.live(20)
    assert (life.state, life.status["reason"], life.status["failed"], len(life.runs)) == ("Failed", "AppFailed", 2, 2)


def test_a_restart_at_any_write_of_a_retry_submits_nothing_twice() -> None:
    for crash in range(1, 12):
        life = run(submissionMode="HTTPMode", backoffLimit=1)
        life.ray.turn("FAILED")
        life.crash_at = len(life.writes) + crash
        life.live(40)
        assert (len(life.runs), len(set(life.runs)), life.status["failed"], len(life.clusters())) == (2, 2, 1, 1)


def test_a_cluster_that_is_lost_is_replaced_by_one_of_another_name() -> None:
    life = run(submissionMode="HTTPMode", backoffLimit=1)
    first = life.status["rayClusterName"]
    life.remove(RAYCLUSTERS, first)
    life.live(20)
    assert (life.state, life.status["failed"]) == ("Running", 1)
    assert life.clusters() == [life.status["rayClusterName"]] != [first]


def test_a_head_that_began_anew_takes_the_next_try() -> None:
    life = run(submissionMode="HTTPMode", backoffLimit=1)
    first = life.status
    life.ray.begin_anew()
    life.live(70)
    assert (life.state, life.status["failed"], life.status["rayClusterName"]) == ("Running", 1, first["rayClusterName"])
    assert life.status["jobId"] != first["jobId"]


def test_what_ray_refused_once_says_nothing_of_the_next_try() -> None:
    life = Life(annotations=dict(SAME), submissionMode="HTTPMode", backoffLimit=1)
    life.ready_in = 3
    life.live(2)
    post, life.ray.post = life.ray.post, lambda act: (400, b"no such field")  # type: ignore[method-assign]
    while life.state != "Retrying":
        life.live(1)
    life.ray.post = post  # type: ignore[method-assign]
    life.live(20)
    assert (life.state, life.status["failed"]) == ("Running", 1)


@pytest.mark.parametrize("lost", [False, True])
def test_on_a_cluster_of_another_a_retry_is_made_only_while_that_lives(lost: bool) -> None:
    life = Life(annotations=dict(SAME), submissionMode="HTTPMode", backoffLimit=1, clusterSelector={"ray.io/cluster": "shared"})
    shared = {"metadata": {"name": "shared", "namespace": KEY.namespace, "uid": "s"}, "spec": cluster_spec()}
    life.put(RAYCLUSTERS, shared | {"status": {"state": "ready", "head": {"podIP": "10.0.0.9", "podName": "shared-head"}}})
    life.rays["shared"] = FakeRay()
    life.live(6)
    life.ray.turn("RUNNING")
    life.live(3)
    assert life.state == "Running"
    if lost:
        life.remove(RAYCLUSTERS, "shared")
    else:
        life.ray.turn("FAILED")
    life.live(20)
    assert (life.state, life.status["failed"], len(life.runs)) == (("Failed", 1, 1) if lost else ("Running", 1, 2))


def test_the_submitter_of_a_try_that_is_over_goes_before_the_next_one() -> None:
    life = run(submissionMode="K8sJobMode", backoffLimit=1)
    before = life.objects[JOBS, KEY.name]["metadata"]["uid"]
    life.ray.turn("FAILED")
    life.live(20)
    assert life.objects[JOBS, KEY.name]["metadata"]["uid"] != before
