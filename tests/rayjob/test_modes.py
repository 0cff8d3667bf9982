"""Every way to submit, from the first write to the last."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.clock import rfc3339
from rayfleet.ray import jobs
from rayfleet.sim.job_life import KEY, Life


def run(**spec: Any) -> Life:
    """As far as RUNNING."""
    life = Life(**spec).live(5)
    life.ray.turn("RUNNING")
    return life.live(3)


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_job_runs_once_and_its_outcome_is_rays(mode: str) -> None:
    life = run(submissionMode=mode)
    assert (life.state, life.status["jobStatus"]) == ("Running", "RUNNING")
    life.ray.turn("SUCCEEDED")
    life.live(5)
    assert (life.state, life.status["jobStatus"], life.status["succeeded"]) == ("Complete", "SUCCEEDED", 1)
    assert life.runs == [life.status["jobId"]]


def test_names_are_on_the_object_before_anything_is_made() -> None:
    life = Life(submissionMode="HTTPMode").live(1)
    assert life.writes[:2] == ["AddFinalizer RayJob train", "status"]
    assert life.writes[2] == f"Create RayCluster {life.status['rayClusterName']}"


def test_there_are_three_status_writes_to_running_and_one_to_the_end_and_none_between() -> None:
    life = run(submissionMode="HTTPMode")
    assert life.writes.count("status") <= 3
    before = len(life.writes)
    life.live(60)
    assert len(life.writes) == before
    life.ray.turn("SUCCEEDED")
    life.live(5)
    assert life.writes[before:] == ["status"]


def test_a_job_that_has_ended_is_not_polled() -> None:
    life = run(submissionMode="HTTPMode")
    life.ray.turn("SUCCEEDED")
    life.live(3)
    before = len(life.ray.calls)
    life.live(30)
    assert len(life.ray.calls) == before


def test_failed_says_what_ray_says() -> None:
    life = run(submissionMode="HTTPMode")
    life.ray.turn("FAILED", "line\n" * 2000 + "ValueError: no such file")
    life.live(3)
    assert (life.state, life.status["jobStatus"], life.status["reason"], life.status["failed"]) == ("Failed", "FAILED", "AppFailed", 1)
    assert life.status["message"].endswith("ValueError: no such file") and len(life.status["message"]) <= 1024


def test_a_job_that_was_stopped_is_complete_and_counts_as_neither() -> None:
    life = run(submissionMode="HTTPMode", backoffLimit=2)
    life.ray.turn("STOPPED")
    life.live(3)
    assert (life.state, life.status["jobStatus"], life.status["reason"]) == ("Complete", "STOPPED", "JobStopped")
    assert not life.status.get("succeeded") and not life.status.get("failed")


def test_an_entry_point_arrives_byte_for_byte() -> None:
    """Report B5, 80 (k#3802, k#3929, k#3561, k#3764, k#2943, k#2949, k#2959)."""
    entrypoint = "python -c \"print('a && b; c')\" $HOME $(X) $$ `id` | \\ \n é 東京\t" + "x" * 32_768
    fields = {"entrypoint": entrypoint, "metadata": {"a": 'it\'s "$(b)"'}, "runtimeEnvYAML": 'env_vars: {A: "$(B) $$"}\n'}
    for mode in ("HTTPMode", "K8sJobMode"):
        life = run(submissionMode=mode, entrypointNumCpus=2, entrypointResources='{"disk": 1}', **fields)
        (body,) = life.ray.bodies
        assert body["entrypoint"] == entrypoint
        assert body["metadata"] == fields["metadata"] and body["runtime_env"] == {"env_vars": {"A": "$(B) $$"}}
        assert (body["entrypoint_num_cpus"], body["entrypoint_resources"]) == (2, {"disk": 1})
    life = Life(submissionMode="SidecarMode", entrypointNumCpus=2, entrypointResources='{"disk": 1}', **fields).live(6)
    (given,) = life.ray.bodies
    assert given | {"submission_id": ""} == body | {"submission_id": ""}, "as the other modes send it"
    life = run(submissionMode="K8sJobMode", **fields)
    variables = life.objects[JOBS, KEY.name]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert not any("$" in variable.get("value", "") for variable in variables), "Kubernetes expands $(NAME), and reads $$ as $"


def test_a_user_submits_in_interactive_mode() -> None:
    life = Life(submissionMode="InteractiveMode", entrypoint="").live(5)
    assert (life.state, life.runs) == ("Waiting", [])
    before = len(life.ray.calls)
    life.live(60)
    assert len(life.ray.calls) == before, "while it waits for its user, Ray is not asked"
    life.ray.submit({"submission_id": "mine"})
    life.edit(jobId="mine")
    life.live(3)
    assert (life.state, life.status["jobId"], life.status["jobStatus"]) == ("Running", "mine", "PENDING")
    life.ray.turn("SUCCEEDED")
    life.live(3)
    assert life.state == "Complete"


def test_sidecar_mode_submits_beside_the_head() -> None:
    life = Life(submissionMode="SidecarMode").live(3)
    name = life.status["rayClusterName"]
    pod = life.objects[RAYCLUSTERS, name]["spec"]["headGroupSpec"]["template"]["spec"]
    submitter = pod["containers"][1]
    env = {variable["name"]: variable["value"] for variable in submitter["env"]}
    assert (pod["restartPolicy"], env["RAY_JOB_SUBMISSION_ID"]) == ("Never", life.status["jobId"])
    assert life.objects[RAYCLUSTERS, name]["metadata"]["annotations"]["ray.io/disable-provisioned-head-restart"] == "true"
    life.live(2)
    assert life.state == "Running"
    life.ray.turn("SUCCEEDED")
    life.live(3)
    assert life.state == "Complete"


def test_a_selected_cluster_is_used_and_left_alone() -> None:
    other = Life(submissionMode="HTTPMode").live(3)
    shared = other.objects[RAYCLUSTERS, other.status["rayClusterName"]]
    shared["metadata"] |= {"name": "shared", "ownerReferences": []}
    life = Life(submissionMode="HTTPMode", clusterSelector={"ray.io/cluster": "shared"})
    life.live(3)
    assert (life.state, life.status["message"]) == ("Initializing", "there is no RayCluster shared")
    life.put(RAYCLUSTERS, shared)
    life.rays["shared"] = other.ray
    life.live(4)
    assert life.status["jobStatus"] == "PENDING"
    life.ray.turn("SUCCEEDED")
    life.live(3)
    life.remove(RAYJOBS, KEY.name)
    life.live(3)
    assert life.clusters() == ["shared"] and (RAYJOBS, KEY.name) not in life.objects


def submitter_fails(life: Life, restarts: int) -> None:
    """The container beside the head has ended with an error, for the so manieth time."""
    head = next(obj for (kind, _), obj in life.objects.items() if kind == PODS)
    ended = {"terminated": {"exitCode": 1, "finishedAt": rfc3339(life.now)}}
    head["status"]["containerStatuses"][1] |= {"state": ended, "restartCount": restarts}
    life.put(PODS, head)


@pytest.mark.parametrize("gate", [False, True])
def test_a_submitter_beside_the_head_that_fails_is_given_up_unless_it_is_started_again(gate: bool) -> None:
    """Report B5, 73 (k#4945)."""
    life = Life(submissionMode="SidecarMode", config=Configuration(feature_gates={"SidecarSubmitterRestart": gate}))
    life.beside_the_head = lambda name: None  # type: ignore[method-assign]
    life.live(4)
    containers = life.objects[RAYCLUSTERS, life.status["rayClusterName"]]["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert containers[1].get("restartPolicy") == ("OnFailure" if gate else None)
    submitter_fails(life, restarts=0)
    life.live(8)
    assert (life.state, life.status.get("reason")) == (("Initializing", None) if gate else ("Failed", "SubmissionFailed"))
    if gate:
        submitter_fails(life, restarts=2)
        life.live(8)
        assert (life.state, life.status["reason"]) == ("Failed", "SubmissionFailed"), "twice is enough"


def test_a_submitter_that_nobody_starts_again_is_not_waited_for() -> None:
    """Also an API server that knows no restarts of single containers takes the field, and drops it."""
    life = Life(submissionMode="SidecarMode", config=Configuration(feature_gates={"SidecarSubmitterRestart": True}))
    life.beside_the_head = lambda name: None  # type: ignore[method-assign]
    life.live(4)
    submitter_fails(life, restarts=0)
    made = life.look()
    assert made is not None and made.requeue_after is not None and made.requeue_after <= 15.0
    life.live(20)
    assert (life.state, life.status["reason"]) == ("Failed", "SubmissionFailed")


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_job_that_nobody_may_have_submitted_yet_is_not_asked_for(mode: str) -> None:
    life = Life(submissionMode=mode)
    life.memory.backoffs["submission"] = Backoff("submission", 1, life.now + 30.0, "the API is busy", "FailedToUpdateRayJob")
    life.live(20)
    assert life.memory.asked is not None and life.memory.asked[1] == (jobs.VERSION,)
    life.live(20)
    assert life.runs == [life.status["jobId"]]
