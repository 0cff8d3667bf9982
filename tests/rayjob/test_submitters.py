"""Submitter Pods that do not start: told as the cluster's own Pods are, in few words and few writes."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import JOBS, PODS
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.job_life import KEY, Life

WAITS = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]}


def without_pod() -> Life:
    """The submitter's Job is there, and makes no Pod."""
    life = Life(submissionMode="K8sJobMode")
    life.submit = lambda *_: None  # type: ignore[method-assign]
    life.live(4)
    return life


def with_pod(status: dict[str, Any]) -> Life:
    life = without_pod()
    put_pod(life, status)
    return life.live(2)


def put_pod(life: Life, status: dict[str, Any], name: str = "train-x7k2p") -> None:
    owner = {"kind": "Job", "name": KEY.name, "uid": life.objects[JOBS, KEY.name]["metadata"]["uid"], "controller": True}
    meta = {"name": name, "namespace": KEY.namespace, "ownerReferences": [owner]}
    life.put(PODS, {"metadata": meta, "spec": {"containers": [{"name": "ray-job-submitter"}]}, "status": status})


def waiting(reason: str, message: str) -> dict[str, Any]:
    return {**WAITS, "containerStatuses": [{"name": "ray-job-submitter", "state": {"waiting": {"reason": reason, "message": message}}}]}


def failed(code: int) -> dict[str, Any]:
    ended = {"name": "check", "state": {"terminated": {"exitCode": code, "reason": "Error"}}}
    return {
        "phase": "Failed",
        "conditions": [{"type": "Ready", "status": "False", "reason": "PodFailed"}],
        "initContainerStatuses": [ended],
    }


UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}],
}
TOLD = {
    "image": (waiting("ErrImagePull", "no such image"), "submitter: ErrImagePull: no such image"),
    "a Secret": (
        waiting("CreateContainerConfigError", 'secret "own" not found'),
        'submitter: CreateContainerConfigError: secret "own" not found',
    ),
    "no node": (UNSCHEDULABLE, "submitter: Unschedulable: 0/3 nodes are available"),
    "init container": (failed(42), "submitter: its Pod has failed (init container check: exit code 42)"),
    "it takes its time": (waiting("ContainerCreating", ""), ""),
    "runs": ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, ""),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_keeps_a_submitter_from_its_work_is_told(case: str) -> None:
    status, message = TOLD[case]
    life = with_pod(status)
    assert (life.state, life.status.get("message", "")) == ("Initializing", message)


def test_a_submitter_that_gets_no_pod_is_told_within_ten_seconds() -> None:
    life = without_pod().live(10)
    assert life.status["message"] == "submitter: its Job has no Pod, and the Job's events say why"
    put_pod(life, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    life.live(2)
    assert "message" not in life.status


def test_the_look_at_a_submitter_without_a_pod_is_not_left_to_chance() -> None:
    made = without_pod().look()
    assert made is not None and made.requeue_after is not None and 0.0 < made.requeue_after <= 5.0


def test_words_of_the_kubelet_that_take_turns_are_written_once() -> None:
    life = with_pod(waiting("ErrImagePull", "no such image"))
    before = life.writes.count("status")
    for _ in range(5):
        put_pod(life, waiting("ImagePullBackOff", "Back-off pulling image"))
        life.live(10)
        put_pod(life, waiting("ErrImagePull", "no such image"))
        life.live(10)
    assert life.writes.count("status") == before
    put_pod(life, UNSCHEDULABLE)
    life.live(2)
    assert life.status["message"] == "submitter: Unschedulable: 0/3 nodes are available"
    told = [event.note for event in life.events if event.reason == "FailedToStartRayJobSubmitter"]
    assert told == ["submitter: ErrImagePull: no such image", "submitter: Unschedulable: 0/3 nodes are available"]


def test_pods_that_fail_one_after_the_other_are_told_once_and_the_end_says_it_again() -> None:
    life = with_pod(failed(42))
    before = life.writes.count("status")
    for name in ("train-b", "train-c"):
        put_pod(life, waiting("ContainerCreating", ""), name)
        life.live(5)
        put_pod(life, failed(42), name)
        life.live(15)
    assert life.writes.count("status") == before
    over = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": rfc3339(life.now)}
    life.objects[JOBS, KEY.name]["status"] = {"conditions": [over]}
    life.live(10)
    assert (life.state, life.status["reason"]) == ("Failed", "SubmissionFailed")
    assert life.status["message"].endswith("(submitter: its Pod has failed (init container check: exit code 42))")


def test_a_deadline_before_the_job_runs_says_what_kept_the_submitter() -> None:
    life = with_pod(waiting("ErrImagePull", "no such image"))
    life.edit(preRunningDeadlineSeconds=60)
    life.live(70)
    assert life.status["reason"] == "PreRunningDeadlineExceeded" and "submitter: ErrImagePull" in life.status["message"]
