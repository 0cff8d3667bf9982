"""How `up` judges jobs, services and cron jobs that are waited for; clusters are judged in test_sentences."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.cli.manifests import Manifest
from rayfleet.cli.standing import of_object
from rayfleet.cli.up import wanted_of

READY = {"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints"}
UPGRADE = {"type": "UpgradeInProgress", "status": "True", "message": "A cluster is to take the active one's place: no room"}
COPY = {"desiredWorkerReplicas": 2, "readyWorkerReplicas": 1, "conditions": [{"type": "HeadPodReady", "status": "True"}]}
PULLING = {"state": {"waiting": {"reason": "ContainerCreating", "message": "pip installs"}}}
POD = {"metadata": {"name": "x-head"}, "status": {"containerStatuses": [PULLING]}}
RUNS = {"state": {"running": {"startedAt": "2030-01-01T00:00:05Z"}}}


def job(**status: Any) -> dict[str, Any]:
    return {"kind": "RayJob", "metadata": {"name": "pi", "generation": 1}, "spec": {}, "status": status}


def service(*conditions: dict[str, Any], seen: int = 3, **status: Any) -> dict[str, Any]:
    told = {"observedGeneration": seen, "conditions": list(conditions), **status}
    return {"kind": "RayService", "metadata": {"name": "shop", "generation": 3}, "spec": {}, "status": told}


@pytest.mark.parametrize(
    ("status", "line", "end"),
    [
        ({}, "rayjob/pi: new", ""),
        (
            {"jobDeploymentStatus": "Initializing", "rayClusterName": "pi-x", "rayClusterStatus": COPY},
            "rayjob/pi: initializing, head ready, workers 1/2 (x-head: ContainerCreating: pip installs)",
            "",
        ),
        ({"jobDeploymentStatus": "Suspended"}, "rayjob/pi: suspended", "ready"),
        ({"jobDeploymentStatus": "Waiting"}, "rayjob/pi: waiting for its user", "ready"),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, "rayjob/pi: over", "ready"),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, "rayjob/pi: over", "hopeless"),
        (
            {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "reason": "AppFailed", "message": "it  is\nbroken"},
            "rayjob/pi: failed",
            "hopeless",
        ),
        ({"jobDeploymentStatus": "ValidationFailed", "message": "spec.x: no"}, "rayjob/pi: refused (spec.x: no)", "hopeless"),
    ],
)
def test_a_job_is_waited_for_until_it_runs_or_has_ended(status: dict[str, Any], line: str, end: str) -> None:
    how = of_object(job(**status), [POD] if "rayClusterName" in status else [])
    assert how.line == line
    assert (how.ready, how.hopeless) == (end == "ready", end == "hopeless")


def test_a_job_of_an_earlier_fleet_does_not_run_yet() -> None:
    pod = {"metadata": {"name": "x-head"}, "status": {"containerStatuses": [RUNS]}}
    running = job(jobDeploymentStatus="Running", rayClusterName="pi-x")
    assert of_object(running, [pod], "2030-01-01T00:00:05Z").ready
    assert not of_object(running, [pod], "2030-01-01T00:00:06Z").ready


def test_how_a_job_ended_is_one_sentence() -> None:
    failed = of_object(job(jobDeploymentStatus="Failed", jobStatus="FAILED", reason="AppFailed", message="it  is\nbroken"), [])
    assert failed.told == "rayjob.ray.io/pi FAILED (AppFailed): it is broken"
    assert of_object(job(jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"), []).told == "rayjob.ray.io/pi SUCCEEDED"


@pytest.mark.parametrize(
    ("found", "state", "note"),
    [
        (service(), "starting", ""),
        (service(READY), "ready", ""),
        (service(READY, seen=2), "starting", ""),
        (service(READY, UPGRADE), "changing", UPGRADE["message"]),
        (service({**READY, "status": "False", "message": "no endpoint"}), "starting", "no endpoint"),
        (service({**READY, "status": "False", "reason": "ValidationFailed", "message": "spec.x: no"}), "refused", "spec.x: no"),
        (service({"type": "Suspended", "status": "True"}), "suspended", ""),
    ],
)
def test_a_service_is_ready_when_its_present_spec_is_served_and_nothing_changes(found: dict[str, Any], state: str, note: str) -> None:
    how = of_object(found, [])
    assert (how.state, how.note) == (state, note)
    assert (how.ready, how.hopeless) == (state in ("ready", "suspended"), state == "refused")


def test_of_a_service_that_changes_the_cluster_that_is_made_is_shown() -> None:
    parts = {"activeServiceStatus": {"rayClusterName": "old"}, "pendingServiceStatus": {"rayClusterName": "new", "rayClusterStatus": COPY}}
    how = of_object(service(READY, UPGRADE, **parts), [])
    assert (how.cluster, how.workers) == ("new", "1/2")


def cron(seen: int, **spec: Any) -> dict[str, Any]:
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.60.0"}]}}}
    job = {"entrypoint": "true", "rayClusterSpec": {"headGroupSpec": head}}
    metadata = {"name": "c", "namespace": "default", "generation": 1}
    whole = {"schedule": "0 3 * * *", "jobTemplate": job, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": whole, "status": {"observedGeneration": seen}}


@pytest.mark.parametrize(
    ("found", "state"),
    [(cron(0), "new"), (cron(1), "scheduled"), (cron(1, suspend=True), "suspended"), (cron(1, schedule="now"), "refused")],
)
def test_a_cron_job_is_ready_once_its_schedule_is_taken_up(found: dict[str, Any], state: str) -> None:
    how = of_object(found, [])
    assert (how.state, how.ready, how.hopeless) == (state, state in ("scheduled", "suspended"), state == "refused")


def test_the_cluster_of_one_in_an_old_format_is_waited_for_and_one_that_was_refused_is_not() -> None:
    old = wanted_of(
        Manifest({"apiVersion": "cluster.ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a", "namespace": "n"}}, "f:1"), "d"
    )
    new = wanted_of(Manifest({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}}, "f:1"), "d")
    assert (old.made_later, old.namespace) == (True, "n")
    assert (new.made_later, new.namespace) == (False, "d")
