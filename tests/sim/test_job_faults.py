"""What storms have found: jobs that ran twice, hung, or left a cluster behind."""

from __future__ import annotations

import pytest

from rayfleet.api import labels
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS, Key
from rayfleet.rayjob import submission
from rayfleet.sim.job_storm import NAME
from rayfleet.sim.kubelet import PENDING, READY, key_of
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.world import NAMESPACE, World
from tests.sim.jobs import BOOT, job_world

MODES = ("HTTPMode", "K8sJobMode", "SidecarMode")


def lose_head(world: World, name: str) -> None:
    head = next(pod for pod in world.pods(name) if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD)
    world.user("delete", PODS, key_of(head), grace=0)


def test_a_cluster_whose_head_submits_is_not_made_again_when_it_is_lost() -> None:
    """SidecarMode: nobody had heard yet that Ray has the job, and it runs in the cluster that is deleted."""
    with job_world() as world:
        world.lead()
        world.submit(submissionMode="SidecarMode")
        world.until(lambda: bool(world.rays.lives))
        (life,) = world.rays.lives.values()
        life.ray.lie = (500, b"not now")
        life.ray.submit({"submission_id": world.status["jobId"]})
        world.run(BOOT + 5.0)
        assert world.state == "Initializing"
        world.delete(RAYCLUSTERS, world.status["rayClusterName"])
        world.run(60.0)
        assert (world.state, world.status["reason"], world.clusters) == ("Failed", "ClusterLost", [])


@pytest.mark.parametrize("retries", [0, 1])
def test_a_cluster_that_was_deleted_while_nobody_looked_does_not_come_again(retries: int) -> None:
    """SidecarMode: its head has had the job from nobody but itself, and no operator has seen either."""
    with job_world() as world:
        first = world.lead()
        world.submit(submissionMode="SidecarMode", backoffLimit=retries)
        world.until(lambda: any(pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD for pod in world.store.all(PODS)))
        world.retire(first)
        world.until(lambda: len(world.runs) == 1)
        name = world.status["rayClusterName"]
        world.delete(RAYCLUSTERS, name)
        world.run(60.0)
        world.lead()
        world.run(120.0)
        assert (world.status["failed"], len(world.runs)) == (1, 1 + retries)
        assert name not in world.clusters
        assert world.state == ("Complete" if retries else "Failed")


def test_a_head_that_submits_waits_until_its_job_names_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that goes before that never had a head: another one of its name is made, and the job runs."""
    with job_world() as world:
        with monkeypatch.context() as patch:
            patch.setattr(submission, "unfenced", lambda observed, job: "")
            first = world.lead()
            world.submit(submissionMode="SidecarMode")
            world.run(60.0)
            (made,) = world.store.all(RAYCLUSTERS)
            assert list(world.store.all(PODS)) == []
            world.retire(first)
        world.delete(RAYCLUSTERS, made["metadata"]["name"])
        world.lead()
        world.run(90.0)
        assert (world.state, len(world.runs)) == ("Complete", 1)
        (again,) = world.store.all(RAYCLUSTERS)
        assert again["metadata"]["name"] == made["metadata"]["name"]
        assert again["metadata"]["uid"] in world.job["metadata"]["annotations"][labels.SUBMITTED_TO]


def test_a_head_that_submits_does_not_come_again_before_all_was_ready() -> None:
    """Its worker was still to come, so the cluster was never provisioned; the job runs in the head that is lost."""
    with job_world() as world:
        world.nodes.fate = lambda pod: READY if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD else PENDING
        world.lead()
        world.submit(submissionMode="SidecarMode", rayClusterSpec=cluster("any", group("small", 1))["spec"])
        world.until(lambda: len(world.runs) == 1)
        lose_head(world, world.status["rayClusterName"])
        world.run(120.0)
        assert (world.state, world.status["reason"]) == ("Failed", "ClusterLost")
        assert len(world.runs) == 1


def test_a_head_that_submits_and_was_lost_unseen_does_not_come_again() -> None:
    """It was lost while nobody led; what the next operator knows of it is what the cluster's status says.

    Report B5, 74 (k#4141, k#4234)."""
    with job_world() as world:
        world.nodes.fate = lambda pod: READY if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD else PENDING
        first = world.lead()
        world.submit(submissionMode="SidecarMode", rayClusterSpec=cluster("any", group("small", 1))["spec"])
        world.until(lambda: len(world.runs) == 1)
        world.retire(first)
        lose_head(world, world.status["rayClusterName"])
        world.run(5.0)
        world.lead()
        world.run(120.0)
        assert (world.state, world.status["reason"], len(world.runs)) == ("Failed", "ClusterLost", 1)


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_who_knows_of_no_version_is_not_ray(mode: str) -> None:
    """A proxy in front of Ray answers 404 to everything for a while: the life of Ray in which the job is submitted must be known."""
    with job_world() as world:
        world.lead()
        world.submit(submissionMode=mode)
        world.until(lambda: bool(world.rays.lives))
        (life,) = world.rays.lives.values()
        life.ray.lie = (404, b"404: Not Found")
        world.run(30.0)
        life.ray.lie = None
        world.until(lambda: len(world.runs) == 1)
        lose_head(world, world.status["rayClusterName"])
        world.run(400.0)
        assert (world.state, world.status["reason"], len(world.runs)) == ("Failed", "JobRecordLost", 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("other", MODES)
def test_a_try_ends_in_the_mode_in_which_it_began(mode: str, other: str) -> None:
    with job_world() as world:
        world.lead()
        world.submit(submissionMode=mode)
        world.until(lambda: bool(world.clusters))
        world.change(submissionMode=other)
        world.run(120.0)
        assert (world.state, world.status["jobStatus"], len(world.runs)) == ("Complete", "SUCCEEDED", 1)


def test_a_cluster_made_from_an_old_copy_of_the_job_goes() -> None:
    """The second operator has not heard that the job was suspended, and makes the cluster that the first one has removed."""
    with job_world() as world:
        world.lead()
        second = world.lead()
        world.submit(shutdownAfterJobFinishes=True)
        world.run(5.0)
        second.watches[RAYJOBS].stall(6.0)
        world.change(suspend=True)
        world.run(60.0)
        assert (world.state, world.clusters) == ("Suspended", [])
        world.change(suspend=False)
        world.run(120.0)
        assert (world.state, world.clusters, len(world.runs)) == ("Complete", [], 1)


def test_an_end_that_a_wrong_clock_dated_keeps_no_cluster_for_a_year() -> None:
    with job_world() as world:
        leader = world.lead()
        world.submit(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=30)
        world.until(lambda: world.state == "Running")
        leader.clock.error = 365 * 86400.0
        world.until(lambda: world.state == "Complete")
        leader.clock.error = 0.0
        world.run(120.0)
        assert world.clusters == [] and world.status["endTime"] < "2026-02"


def test_a_clock_that_was_wrong_for_a_while_does_not_hide_that_ray_is_silent() -> None:
    with job_world() as world:
        leader = world.lead()
        world.submit()
        world.until(lambda: world.state == "Running")
        leader.clock.error = 365 * 86400.0
        world.life.ray.lie = (500, b"not now")
        world.run(30.0)
        leader.clock.error = 0.0
        world.run(400.0)
        assert (world.state, world.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")


def test_a_job_on_a_cluster_of_others_is_looked_at_while_that_has_no_head() -> None:
    """Nothing that is not its own calls it: the record of the job is lost with the head, and nobody would notice."""
    with job_world() as world:
        world.lead()
        world.apply(cluster("shared"))
        world.run(BOOT + 10.0)
        world.submit(clusterSelector={labels.CLUSTER: "shared"})
        world.until(lambda: world.state == "Running")
        world.nodes.fate = lambda pod: PENDING
        lose_head(world, "shared")
        world.run(15.0)
        world.change(entrypoint="python other.py")
        world.run(15.0)
        world.nodes.fate = lambda pod: READY
        world.nodes.schedule_pending()
        world.run(120.0)
        assert (world.state, world.status["reason"]) == ("Failed", "JobRecordLost")


def test_a_cluster_of_others_is_asked_as_soon_as_it_is_ready() -> None:
    """Its head is there before all of it is ready, and after that nothing of the job's own changes."""
    with job_world() as world:
        world.nodes.fate = lambda pod: READY if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD else PENDING
        world.lead()
        world.apply(cluster("shared", group("small", 1)))
        world.submit(clusterSelector={labels.CLUSTER: "shared"})
        world.run(30.0)
        world.nodes.fate = lambda pod: READY
        world.nodes.schedule_pending()
        world.run(90.0)
        assert (world.state, world.runs) == ("Complete", [world.status["jobId"]])


def test_the_last_word_stands_when_neither_cluster_nor_submitter_can_end_it() -> None:
    """Ray has said how the job ended, then its cluster is deleted, and its submitter waits for nobody."""
    with job_world() as world:
        world.lead()
        world.submit(submissionMode="K8sJobMode")
        world.until(lambda: world.state == "Running")
        world.submitters.nodes.end_program = lambda *_: None  # type: ignore[method-assign]
        world.until(lambda: world.status.get("jobStatus") == "SUCCEEDED")
        world.delete(RAYCLUSTERS, world.status["rayClusterName"])
        world.run(30.0)
        assert (world.state, world.status["jobStatus"]) == ("Complete", "SUCCEEDED")


@pytest.mark.parametrize("code", [401, 403, 408, 429])
def test_a_refusal_that_says_nothing_against_the_job_is_not_its_failure(code: int) -> None:
    with job_world() as world:
        world.lead()
        world.submit()
        world.until(lambda: bool(world.rays.lives))
        (life,) = world.rays.lives.values()
        post = life.ray.post
        life.ray.post = lambda act: (code, b"later")  # type: ignore[method-assign]
        world.run(30.0)
        assert world.state == "Initializing"
        life.ray.post = post  # type: ignore[method-assign]
        world.run(120.0)
        assert (world.state, world.status["jobStatus"], len(world.runs)) == ("Complete", "SUCCEEDED", 1)


def test_a_job_that_is_deleted_before_its_submitter_submits_does_not_run_on_a_cluster_of_others() -> None:
    with job_world() as world:
        world.lead()
        world.apply(cluster("shared"))
        world.run(BOOT + 10.0)
        world.submit(clusterSelector={labels.CLUSTER: "shared"}, submissionMode="K8sJobMode")
        world.until(lambda: bool(world.store.all(JOBS)))
        world.delete(RAYJOBS, NAME)
        world.run(60.0)
        (life,) = world.rays.lives.values()
        assert world.store.all(RAYJOBS) == [] and all(job["status"] == "STOPPED" for job in life.ray.jobs.values())


@pytest.mark.parametrize("deaf_to", ["stop", "everything"])
def test_a_job_that_is_deleted_does_not_run_on_where_ray_did_not_hear_the_first_stop(deaf_to: str) -> None:
    """On a cluster that stays (jobs storm 21033): the call is lost, or Ray is silent for a few seconds.

    Report B5, 91 (k#735, k#676)."""
    with job_world() as world:
        world.lead()
        world.apply(cluster("shared"))
        world.run(BOOT + 10.0)
        world.submit(clusterSelector={labels.CLUSTER: "shared"})
        world.until(lambda: world.status.get("jobStatus") == "RUNNING")
        (life,) = world.rays.lives.values()
        if deaf_to == "stop":
            world.faults.always = {("stop", "ray"): "timeout"}
        else:
            life.ray.lie = (503, b"not now")
            world.run(12.0)
        world.delete(RAYJOBS, NAME)
        world.run(4.0)
        world.faults.stop()
        life.ray.lie = None
        world.run(20.0)
        assert world.store.all(RAYJOBS) == [] and all(job["status"] == "STOPPED" for job in life.ray.jobs.values())


def test_a_job_of_somebody_else_s_with_the_submitters_name_is_left_alone() -> None:
    """And where it goes the name is taken."""
    with job_world() as world:
        world.lead()
        foreign = Key(NAMESPACE, NAME)
        world.user("create", JOBS, foreign, body={"spec": {"template": {"spec": {"containers": []}}}})
        world.submit(submissionMode="K8sJobMode")
        world.run(60.0)
        assert (world.state, world.runs) == ("Initializing", [])
        world.change(suspend=True)
        world.run(60.0)
        assert (world.state, world.store.get(JOBS, foreign) is not None) == ("Suspended", True)
        world.user("delete", JOBS, foreign)
        world.change(suspend=False)
        world.run(400.0)
        assert (world.state, len(world.runs)) == ("Complete", 1)


def test_a_job_that_another_controller_manages_is_left_alone() -> None:
    with job_world() as world:
        world.lead()
        world.submit(managedBy="kueue.x-k8s.io/multikueue")
        world.run(600.0)
        assert (world.writes, world.clusters, NAME in world.job["metadata"]["name"]) == (0, [], True)
