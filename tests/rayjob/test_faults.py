"""What goes wrong around a job: nothing runs twice, nothing hangs, and the status says what is so."""

from __future__ import annotations

import pytest

from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS
from rayfleet.sim.job_life import KEY, Life, cluster_spec, head_template
from tests.rayjob.test_modes import run


def test_a_submission_whose_answer_is_lost_is_not_made_again() -> None:
    """Report B5, 67 (k#1000)."""
    life = Life(submissionMode="HTTPMode")
    life.ready_in = 3
    life.live(2)
    life.ray.takes_late = True
    life.live(10)
    assert (life.state, life.runs) == ("Running", [life.status["jobId"]])


def test_a_head_that_is_lost_before_the_job_is_known_gets_no_second_one() -> None:
    life = Life(submissionMode="HTTPMode")
    life.ready_in = 3
    life.live(2)
    life.ray.takes_late = True
    for _ in range(20):  # until the submission is under way, and not yet known
        life.live(1)
        if life.ray.runs:
            break
    life.crash()
    life.ray.begin_anew()
    life.live(60)
    assert (life.state, life.status["reason"]) == ("Failed", "JobRecordLost")
    assert len(life.runs) == 1


def test_a_head_of_sidecar_mode_that_is_lost_is_told() -> None:
    """Report B5, 74 (k#4141, k#4234)."""
    life = run(submissionMode="SidecarMode")
    life.remove(PODS, f"{life.status['rayClusterName']}-head")
    life.ray.alive = False
    life.live(3)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "ClusterLost")


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_record_that_is_lost_with_the_head_is_told_and_nothing_runs_again(mode: str) -> None:
    """Report B5, 71 (k#3903, k#3860, k#4080)."""
    life = run(submissionMode=mode)
    life.ray.begin_anew()
    life.live(60)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "JobRecordLost")
    assert len(life.runs) == 1


def test_a_record_that_comes_back_is_believed() -> None:
    life = run(submissionMode="HTTPMode")
    kept = dict(life.ray.jobs)
    life.ray.jobs.clear()
    life.live(10)
    life.ray.jobs.update(kept)
    life.live(60)
    assert life.state == "Running" and len(life.runs) == 1


def test_a_cluster_that_is_lost_fails_the_job() -> None:
    life = run(submissionMode="HTTPMode")
    life.remove(RAYCLUSTERS, life.status["rayClusterName"])
    life.live(3)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "ClusterLost")
    assert life.clusters() == []


def test_a_retry_is_counted_and_has_a_cluster_of_its_own() -> None:
    life = run(submissionMode="HTTPMode", backoffLimit=1)
    first = life.status
    life.ray.turn("FAILED")
    life.live(20)
    assert (life.state, life.status["failed"]) == ("Running", 1)
    assert life.status["jobId"] != first["jobId"] and life.clusters() == [life.status["rayClusterName"]] != [first["rayClusterName"]]
    life.ray.turn("FAILED")
    life.live(5)
    assert (life.state, life.status["failed"], len(life.runs)) == ("Failed", 2, 2)


def test_names_of_a_try_do_not_come_back() -> None:
    life = run(submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    seen = set()
    for _ in range(3):
        seen |= {life.status["rayClusterName"], life.status["jobId"]}
        life.edit(suspend=True)
        life.live(8)
        assert (life.state, life.clusters()) == ("Suspended", [])
        life.edit(suspend=False)
        life.live(8)
    assert len(seen) == 6 and len(life.runs) == 4 == len(set(life.runs))


def test_suspension_stops_rays_job_first() -> None:
    life = run(submissionMode="K8sJobMode", shutdownAfterJobFinishes=True)
    name, ray = life.status["jobId"], life.ray
    life.edit(suspend=True)
    life.live(5)
    assert f"POST /api/jobs/{name}/stop" in ray.calls
    assert (life.state, life.status.get("jobStatus", "")) == ("Suspended", "")
    assert (JOBS, KEY.name) not in life.objects


def test_suspension_does_not_wait_for_a_ray_that_is_dead() -> None:
    life = run(submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    life.ray.alive = False
    life.edit(suspend=True)
    life.live(20)
    assert life.state == "Suspended"


def test_at_a_deadline_the_job_is_stopped_and_not_retried() -> None:
    life = run(submissionMode="HTTPMode", activeDeadlineSeconds=20, backoffLimit=2)
    life.live(30)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "STOPPED", "DeadlineExceeded")
    assert len(life.runs) == 1


def test_a_deadline_with_ray_dead_ends_within_its_grace() -> None:
    life = run(submissionMode="HTTPMode", activeDeadlineSeconds=20)
    life.ray.alive = False
    life.live(60)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Failed", "FAILED", "DeadlineExceeded")


def test_a_job_that_succeeds_at_its_deadline_has_succeeded() -> None:
    life = run(submissionMode="HTTPMode", activeDeadlineSeconds=20)
    life.live(12)
    life.ray.turn("SUCCEEDED")
    life.now += 10
    life.live(5)
    assert (life.state, life.status["jobStatus"]) == ("Complete", "SUCCEEDED")


def test_a_cluster_that_never_comes_up_ends_at_the_pre_running_deadline_with_its_own_reason() -> None:
    """Report B5, 76 (k#4178, k#1990)."""
    life = Life(submissionMode="HTTPMode", preRunningDeadlineSeconds=60)
    life.ready_in = None
    life.live(3)
    cluster = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]
    cluster["status"] = {"conditions": [{"type": "HeadPodReady", "status": "False", "reason": "ErrImagePull", "message": "no such image"}]}
    life.live(2)
    assert life.status["message"] == "ErrImagePull: no such image"
    life.live(60)
    assert (life.state, life.status["reason"]) == ("Failed", "PreRunningDeadlineExceeded")
    assert "ErrImagePull" in life.status["message"]


def test_a_silent_ray_is_told_and_given_up_also_over_restarts() -> None:
    """Report B5, 88 (k#4916)."""
    life = run(submissionMode="HTTPMode")
    life.ray.alive = False
    for _ in range(7):
        life.live(45)
        life.crash()
    life.live(10)
    assert (life.state, life.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")
    assert life.status["jobStatusCheckFailureStartTime"]


def test_a_silence_that_ends_is_forgotten() -> None:
    life = run(submissionMode="HTTPMode")
    life.ray.alive = False
    life.live(60)
    assert life.status["jobStatusCheckFailureStartTime"]
    life.ray.alive = True
    life.live(5)
    assert "jobStatusCheckFailureStartTime" not in life.status and life.state == "Running"


def test_a_submitter_that_is_killed_changes_nothing_while_ray_can_be_asked() -> None:
    """Report B5, 68 (k#2154, k#2317)."""
    life = run(submissionMode="K8sJobMode")
    life.objects[JOBS, KEY.name]["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    life.live(60)
    assert life.state == "Running"
    life.ray.turn("SUCCEEDED")
    life.live(3)
    assert life.state == "Complete"


def test_a_submitter_that_never_ends_is_waited_for_no_longer_than_its_grace() -> None:
    life = run(submissionMode="K8sJobMode")
    life.submit = lambda *_: None  # type: ignore[method-assign]
    life.ray.turn("FAILED")
    life.live(10)
    assert (life.state, life.status["jobStatus"]) == ("Running", "FAILED")
    life.live(300)
    assert (life.state, life.status["reason"]) == ("Failed", "AppFailed")


def test_a_submitter_that_gives_up_before_ray_knows_the_job() -> None:
    life = Life(submissionMode="K8sJobMode")
    life.submit = lambda *_: None  # type: ignore[method-assign]
    life.live(5)
    life.objects[JOBS, KEY.name]["status"] = {"conditions": [{"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}]}
    life.live(5)
    assert (life.state, life.status["reason"]) == ("Failed", "SubmissionFailed")


def test_a_job_that_ray_refuses_fails_with_rays_words() -> None:
    life = Life(submissionMode="HTTPMode")
    life.ready_in = 3
    life.live(2)
    life.ray.post = lambda act: (400, b"TypeError: no such field")  # type: ignore[method-assign]
    life.live(10)
    assert (life.state, life.status["reason"]) == ("Failed", "SubmissionFailed")
    assert "TypeError: no such field" in life.status["message"]


def test_a_refusal_that_may_pass_is_tried_again() -> None:
    life = Life(submissionMode="HTTPMode")
    life.ready_in = 3
    life.live(2)
    post, life.ray.post = life.ray.post, lambda act: (500, b"busy")  # type: ignore[method-assign]
    life.live(20)
    assert life.state == "Initializing" and "busy" in life.status["message"]
    life.ray.post = post  # type: ignore[method-assign]
    life.live(60)
    assert life.state == "Running"


def test_an_error_of_ray_s_own_that_does_not_pass_ends_the_try_also_over_restarts() -> None:
    life = Life(submissionMode="HTTPMode")
    life.ready_in = 3
    life.live(2)
    life.ray.post = lambda act: (503, b"the disk is full")  # type: ignore[method-assign]
    for _ in range(5):
        life.live(50)
        assert life.state == "Initializing" and "the disk is full" in life.status["message"]
        life.crash()
    life.live(120)
    assert (life.state, life.status["reason"], life.status.get("jobStatus", "")) == ("Failed", "SubmissionFailed", "")
    assert "Ray answered 503: the disk is full" in life.status["message"]
    before = len(life.ray.calls)
    life.live(60)
    assert len(life.ray.calls) == before


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_dashboard_that_never_answers_ends_the_try_and_nothing_is_submitted_after_it(mode: str) -> None:
    """Report B5, 88 (k#4916)."""
    life = Life(submissionMode=mode)
    life.ready_in = 3
    life.live(2)
    life.ray.lie = (503, b"no")
    life.live(290)
    assert life.state == "Initializing"
    life.live(60)
    assert (life.state, life.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")
    life.ray.lie = None
    life.live(60)
    assert life.runs == [] and (JOBS, KEY.name) not in life.objects


def test_a_head_that_takes_long_to_come_up_is_not_called_silent() -> None:
    life = Life(submissionMode="SidecarMode")
    life.ready_in = None
    life.live(3)
    cluster, ray = life.objects[RAYCLUSTERS, life.status["rayClusterName"]], life.ray
    cluster["status"] = {"head": {"podIP": "10.0.0.1", "podName": "train-head"}}
    ray.alive = False
    life.live(900)
    assert life.state == "Initializing" and "jobStatusCheckFailureStartTime" not in life.status
    cluster["status"], life.ready_in, ray.alive = {}, 0.0, True
    life.live(10)
    assert life.state == "Running"


def test_a_submitter_that_has_not_submitted_goes_with_a_job_that_failed() -> None:
    life = Life(submissionMode="K8sJobMode", preRunningDeadlineSeconds=30)
    life.submit = lambda *_: None  # type: ignore[method-assign]
    life.live(10)
    assert (JOBS, KEY.name) in life.objects
    life.live(40)
    assert (life.state, life.status["reason"]) == ("Failed", "PreRunningDeadlineExceeded")
    assert (JOBS, KEY.name) not in life.objects


def test_an_invalid_spec_is_told_at_once_and_recovers() -> None:
    life = Life(submissionMode="Nonsense", ttlSecondsAfterFinished=5, runtimeEnvYAML="- a").live(3)
    assert life.state == "ValidationFailed" and life.clusters() == []
    for part in ("spec.submissionMode", "spec.ttlSecondsAfterFinished", "spec.runtimeEnvYAML"):
        assert part in life.status["message"]
    assert [event.reason for event in life.events] == ["InvalidRayJobSpec"]
    life.edit(submissionMode="HTTPMode", ttlSecondsAfterFinished=0, runtimeEnvYAML="")
    life.live(5)
    assert life.state == "Running" and "reason" not in life.status


def test_a_spec_that_is_spoilt_later_spoils_nothing_that_runs() -> None:
    life = run(submissionMode="HTTPMode")
    life.edit(backoffLimit=-1)
    life.live(3)
    assert (life.state, life.status["observedGeneration"]) == ("Running", 2)


def test_a_job_that_is_suspended_from_the_start_makes_nothing() -> None:
    life = Life(submissionMode="HTTPMode", suspend=True, shutdownAfterJobFinishes=True).live(5)
    assert (life.state, life.writes) == ("Suspended", ["status"])


def test_deletion_stops_the_job_and_does_not_wait_for_the_dead() -> None:
    """Report B5, 91 (k#735, k#676)."""
    for alive in (True, False):
        life = run(submissionMode="HTTPMode")
        ray, name = life.ray, life.status["jobId"]
        ray.alive = alive
        life.remove(RAYJOBS, KEY.name)
        life.live(20)
        assert (RAYJOBS, KEY.name) not in life.objects
        assert alive is (ray.jobs[name]["status"] == "STOPPED")


@pytest.mark.parametrize(
    ("spec", "word", "clusters", "exists"),
    [
        ({}, "SUCCEEDED", 1, True),
        ({"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 30}, "SUCCEEDED", 0, True),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}}}, "FAILED", 1, True),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {"policy": "DeleteNone"}}}, "SUCCEEDED", 1, False),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {"policy": "DeleteCluster"}}}, "STOPPED", 0, True),
        ({"deletionStrategy": {"deletionRules": [{"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}]}}, "STOPPED", 0, True),
    ],
)
def test_what_goes_at_the_end(spec: dict[str, object], word: str, clusters: int, exists: bool) -> None:
    life = run(submissionMode="HTTPMode", **spec)
    life.ray.turn(word)
    life.live(10)
    if "ttlSecondsAfterFinished" in spec:
        assert len(life.clusters()) == 1, "not before its time"
    life.live(60)
    assert len(life.clusters()) == clusters
    assert ((RAYJOBS, KEY.name) in life.objects) is exists


def test_workers_go_before_the_cluster() -> None:
    rules = [
        {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 10}},
        {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 30}},
    ]
    group = {"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "template": head_template()}
    life = Life(
        submissionMode="HTTPMode", rayClusterSpec=cluster_spec(workerGroupSpecs=[group]), deletionStrategy={"deletionRules": rules}
    ).live(5)
    life.ray.turn("SUCCEEDED")
    life.live(15)
    (found,) = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]["spec"]["workerGroupSpecs"]
    assert found["suspend"] is True and found["template"] == head_template()
    life.live(30)
    assert life.clusters() == []


def test_kuberay_532_sizes_that_an_autoscaler_wrote_stay() -> None:
    group = {"groupName": "small", "replicas": 0, "minReplicas": 0, "maxReplicas": 5, "template": head_template()}
    life = Life(submissionMode="HTTPMode", rayClusterSpec=cluster_spec(workerGroupSpecs=[group], enableInTreeAutoscaling=True)).live(5)
    cluster = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]
    written = {"replicas": 3, "scaleStrategy": {"workersToDelete": ["w"]}}
    cluster["spec"]["workerGroupSpecs"] = [{**group, **written}]
    life.put(RAYCLUSTERS, cluster)
    life.live(60)
    (found,) = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]["spec"]["workerGroupSpecs"]
    assert {name: found[name] for name in written} == written


def as_kuberay_left_it(life: Life) -> None:
    """Running, although Ray has not heard of the job; and nothing says where it may be submitted."""
    job = life.job
    job["metadata"]["annotations"] = {}
    job["status"] = {**job["status"], "jobDeploymentStatus": "Running", "message": ""}
    life.put(RAYJOBS, job)
    life.crash()


def test_what_another_operator_calls_running_before_it_was_submitted_is_submitted_once() -> None:
    life = Life(submissionMode="HTTPMode")
    life.ready_in = None
    life.live(2)
    given = life.status["jobId"], life.status["rayClusterName"]
    as_kuberay_left_it(life)
    life.ready_in = 1.0
    life.live(60)
    assert (life.state, life.status["jobId"], life.status["rayClusterName"]) == ("Running", *given)
    assert life.runs == [given[0]]


def test_the_submitter_that_another_operator_made_has_the_time_it_takes() -> None:
    life = Life(submissionMode="K8sJobMode")
    submit, life.submit = life.submit, lambda obj, container: None  # type: ignore[method-assign]
    life.live(10)
    as_kuberay_left_it(life)
    life.live(120)
    assert life.state == "Initializing" and life.runs == []
    life.submit = submit  # type: ignore[method-assign]
    life.live(5)
    assert (life.state, life.status["jobStatus"]) == ("Running", "PENDING")
    assert len([each for each in life.objects if each[0] == JOBS]) == 1
