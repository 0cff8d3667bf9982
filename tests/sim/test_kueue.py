"""Kueue's contract: nothing runs that was not let in, with the node selectors that it was let in with, and an end gives its room back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, Key
from rayfleet.sim.job_chaos import cluster_spec
from rayfleet.sim.job_storm import job
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Obj
from rayfleet.sim.world import NAMESPACE
from tests.sim.jobs import JobWorld, job_world
from tests.sim.kueue import Kueue, flavors_of


@pytest.fixture
def world() -> Iterator[JobWorld]:
    with job_world() as made:
        made.lead()
        yield made


def train(name: str, mode: str = "HTTPMode", **spec: Any) -> Obj:
    given = {"entrypoint": "python train.py", "submissionMode": mode, "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster_spec()}
    made = job({**given, "rayClusterSpec": {**cluster_spec(), "workerGroupSpecs": [group("small", 1)]}, **spec})
    return {**made, "metadata": {**made["metadata"], "name": name}}


def state(world: JobWorld, name: str) -> tuple[str, str]:
    status = (world.store.get(RAYJOBS, Key(NAMESPACE, name)) or {}).get("status") or {}
    return status.get("jobDeploymentStatus", ""), status.get("jobStatus", "")


def test_jobs_run_one_after_the_other_where_there_is_room_for_one(world: JobWorld) -> None:
    queue = Kueue(world, room=1)
    for name in ("one", "two", "three"):
        queue.submit(train(name))
    world.run(20.0)
    assert len(world.clusters) == 1 and [state(world, name)[0] for name in ("two", "three")] == ["Suspended", "Suspended"]
    world.run(300.0)
    assert [state(world, name) for name in ("one", "two", "three")] == [("Complete", "SUCCEEDED")] * 3
    assert len(world.runs) == 3 and queue.admitted == []


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_has_the_node_selectors_that_it_was_let_in_with(world: JobWorld, mode: str) -> None:
    Kueue(world).submit(train("one", mode))
    world.run(15.0)
    assert {(pod["spec"].get("nodeSelector") or {}).get("flavor") for name in world.clusters for pod in world.pods(name)} == {"spot"}
    world.run(120.0)
    assert state(world, "one") == ("Complete", "SUCCEEDED")


def test_a_job_that_is_evicted_goes_whole_and_comes_back_with_other_selectors(world: JobWorld) -> None:
    """Report B5, 86 (q#1844, q#1156)."""
    queue = Kueue(world)
    queue.submit(train("one"))
    world.until(lambda: state(world, "one")[0] == "Running")
    queue.room = 0
    queue.evict(RAYJOBS, Key(NAMESPACE, "one"))
    world.run(60.0)
    assert (state(world, "one")[0], world.clusters, world.store.all(PODS), queue.admitted) == ("Suspended", [], [], [])
    queue.room = 1
    world.run(12.0)
    assert flavors_of(world) == {"on-demand"}
    world.run(120.0)
    assert state(world, "one") == ("Complete", "SUCCEEDED") and len(world.runs) == 2


def test_a_job_that_fails_is_finished_too(world: JobWorld) -> None:
    world.ends("FAILED")
    queue = Kueue(world)
    queue.submit(train("one"))
    world.run(120.0)
    assert state(world, "one") == ("Failed", "FAILED") and queue.admitted == []


def test_a_cluster_is_let_in_and_evicted_as_a_whole(world: JobWorld) -> None:
    queue = Kueue(world)
    queue.submit(cluster("demo", group("small", 2)))
    world.run(0.4)
    assert world.store.all(PODS) == []
    world.run(30.0)
    assert flavors_of(world) == {"spot"} and len(world.pods("demo")) == 3
    queue.room = 0
    queue.evict(RAYCLUSTERS, Key(NAMESPACE, "demo"))
    world.run(60.0)
    assert (world.store.all(PODS), queue.admitted) == ([], [])
    queue.room = 1
    world.run(60.0)
    assert flavors_of(world) == {"on-demand"} and len(world.pods("demo")) == 3


def test_what_runs_elsewhere_is_left_to_whoever_copies_its_status(world: JobWorld) -> None:
    """MultiKueue: the job runs in another Kubernetes, and its status is written here by Kueue."""
    made = train("one", managedBy="kueue.x-k8s.io/multikueue")
    world.apply(made)
    world.run(30.0)
    told = {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "rayClusterName": "elsewhere"}}
    world.user("patch", RAYJOBS, Key(NAMESPACE, "one"), body=told, subresource="status")
    world.run(600.0)
    assert (world.writes, world.clusters, state(world, "one")) == (0, [], ("Complete", "SUCCEEDED"))
