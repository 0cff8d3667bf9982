"""RayJobs with real Ray in a local fleet: every mode to its end, failure in the program's own words, suspension, and odd characters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.fleet import Fleet
from tests.local.ray import STORE, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
MERGE = "application/merge-patch+json"
ODD = 'it\'s "quoted" && `id` $HOME $(RAY_IP) $$ ; é 東京 \\n'


def ray_job(name: str, code: str, mode: str, **spec: Any) -> dict[str, Any]:
    """A job of Python code, on a head alone."""
    entrypoint = "" if mode == "InteractiveMode" else f"python -c {quoted(code)}"
    cluster = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": template("2Gi")}}
    whole = {"submissionMode": mode, "entrypoint": entrypoint, "rayClusterSpec": cluster, "shutdownAfterJobFinishes": True, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": whole}


def quoted(code: str) -> str:
    return "'" + code.replace("'", "'\"'\"'") + "'"


def status(fleet: Fleet, name: str) -> dict[str, Any]:
    return dict((fleet.read(f"{JOBS}/{name}") or {}).get("status") or {})


def until(fleet: Fleet, name: str, *states: str) -> dict[str, Any]:
    eventually(lambda: status(fleet, name).get("jobDeploymentStatus") in states, 150.0, f"{name} is {' or '.join(states)}")
    return status(fleet, name)


def clusters(fleet: Fleet, name: str) -> list[str]:
    found = fleet.read("/apis/ray.io/v1/namespaces/default/rayclusters")
    return [each["metadata"]["name"] for each in found["items"] if each["metadata"]["name"].startswith(f"{name}-")]


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_runs_to_its_end_and_leaves_no_cluster(ray_fleet: Fleet, mode: str) -> None:
    name = mode.lower()
    code = f"said = {ODD!r}.encode().hex(); assert said == '{ODD.encode().hex()}', said"
    ray_fleet.apply(ray_job(name, code, mode, runtimeEnvYAML="env_vars: {A: b}", metadata={"odd": ODD}))
    said = until(ray_fleet, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1), said
    eventually(lambda: clusters(ray_fleet, name) == [], 60.0, "the cluster is gone")


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_failure_is_told_in_the_programs_own_words(ray_fleet: Fleet, mode: str) -> None:
    name = f"fails-{mode.lower()}"
    ray_fleet.apply(ray_job(name, "raise ValueError('no such column: price')", mode))
    said = until(ray_fleet, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "FAILED", "AppFailed"), said
    assert "ValueError: no such column: price" in said["message"]


def test_a_job_that_is_suspended_and_resumed_runs_on_a_new_cluster(ray_fleet: Fleet) -> None:
    ray_fleet.apply(ray_job("again", "import time; time.sleep(6)", "HTTPMode"))
    first = until(ray_fleet, "again", "Running")
    ray_fleet.request("PATCH", f"{JOBS}/again", {"spec": {"suspend": True}}, kind=MERGE)
    until(ray_fleet, "again", "Suspended")
    assert clusters(ray_fleet, "again") == []
    ray_fleet.request("PATCH", f"{JOBS}/again", {"spec": {"suspend": False}}, kind=MERGE)
    said = until(ray_fleet, "again", "Complete", "Failed")
    assert (said["jobStatus"], said["jobId"] == first["jobId"]) == ("SUCCEEDED", False)


def test_a_deadline_stops_the_job(ray_fleet: Fleet) -> None:
    ray_fleet.apply(ray_job("late", "import time; time.sleep(1000)", "HTTPMode", activeDeadlineSeconds=40))
    said = until(ray_fleet, "late", "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "STOPPED", "DeadlineExceeded"), said
