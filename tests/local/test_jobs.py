"""RayJobs with real Ray in a local fleet: every mode to its end, failure in the program's own words, suspension, retries, lost heads, odd
characters, and the command line. What needs no cluster of its own runs on one that all share; its head is killed at last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayfleet.cli.ray_job import ask
from tests.local.fleet import CLUSTERS, Fleet, environment
from tests.local.ray import STORE, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
MERGE = "application/merge-patch+json"
ODD = 'it\'s "quoted" && `id` $HOME $(RAY_IP) $$ ; | > < * ? [a] {b} ~ # ! % & \t é 東京 \\n \nend'
SHARED = "shared"


def ray_job(name: str, code: str, mode: str, **spec: Any) -> dict[str, Any]:
    """A job of Python code, on a head alone."""
    cluster = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": template("2Gi")}}
    return job_of(name, code, mode, rayClusterSpec=cluster, shutdownAfterJobFinishes=True, **spec)


def shared_job(name: str, code: str, mode: str, **spec: Any) -> dict[str, Any]:
    """On the cluster that all share, where it may be tried again."""
    made = job_of(name, code, mode, clusterSelector={"ray.io/cluster": SHARED}, **spec)
    made["metadata"]["annotations"] = {"rayfleet.dev/retry-policy": "SameCluster"}
    return made


def job_of(name: str, code: str, mode: str, **spec: Any) -> dict[str, Any]:
    entrypoint = "" if mode == "InteractiveMode" else f"python -c {quoted(code)}"
    whole = {"submissionMode": mode, "entrypoint": entrypoint, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": whole}


def quoted(code: str) -> str:
    return "'" + code.replace("'", "'\"'\"'") + "'"


def status(fleet: Fleet, name: str) -> dict[str, Any]:
    return dict((fleet.read(f"{JOBS}/{name}") or {}).get("status") or {})


def until(fleet: Fleet, name: str, *states: str) -> dict[str, Any]:
    eventually(lambda: status(fleet, name).get("jobDeploymentStatus") in states, 150.0, f"{name} is {' or '.join(states)}")
    return status(fleet, name)


def clusters(fleet: Fleet, name: str) -> list[str]:
    found = fleet.read(CLUSTERS)
    return [each["metadata"]["name"] for each in found["items"] if each["metadata"]["name"].startswith(f"{name}-")]


def start_by_hand(fleet: Fleet, name: str, code: str) -> None:
    """What the user of InteractiveMode does: submit to the cluster, and name the job."""
    until(fleet, name, "Waiting")
    body = {"entrypoint": f"python -c {quoted(code)}", "submission_id": f"{name}-by-hand"}
    ask(f"{fleet.dashboard(f'{SHARED}-head-svc')}/api/jobs/", body)
    fleet.request("PATCH", f"{JOBS}/{name}", {"spec": {"jobId": f"{name}-by-hand"}}, kind=MERGE)


def kill_head(fleet: Fleet, cluster: str, *marks: str) -> None:
    """Every process of Ray's in the head, and those of whose environment `marks` are lines."""
    (head,) = (name for name in fleet.pods(cluster) if "-head-" in name)
    wanted = {mark.encode() for mark in marks}
    others = [process for process in fleet.inside() if wanted & set(environment(process.pid).split(b"\0"))]
    for process in (*fleet.of_pod(head), *others):
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.fixture(scope="module")
def shared(ray_fleet: Fleet) -> Iterator[Fleet]:
    ray_fleet.apply(ray_cluster(SHARED))
    ray_fleet.ready(SHARED, 0)
    yield ray_fleet
    ray_fleet.run("delete", "raycluster", SHARED)


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_runs_to_its_end_and_leaves_no_cluster(ray_fleet: Fleet, mode: str) -> None:
    name = mode.lower()
    code = f"said = {ODD!r}.encode().hex(); assert said == '{ODD.encode().hex()}', said"
    ray_fleet.apply(ray_job(name, code, mode, runtimeEnvYAML="env_vars: {A: b}", metadata={"odd": ODD}))
    said = until(ray_fleet, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1), said
    eventually(lambda: clusters(ray_fleet, name) == [], 60.0, "the cluster is gone")


def test_up_waits_for_jobs_and_its_code_is_how_they_ended(shared: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    well, badly = shared_job("well", "print(1)", "HTTPMode"), shared_job("badly", "import sys; sys.exit('it is broken')", "HTTPMode")
    file.write_text("\n---\n".join(map(json.dumps, (well, badly))))
    shared.run("apply", "-f", str(file))
    until(shared, "badly", "Failed")
    assert "rayjob.ray.io/badly FAILED (AppFailed)" in shared.run("up", "-f", str(file), code=1)
    file.write_text(json.dumps(well))
    assert "Log of rayjob/well: rayfleet job logs well" in shared.run("up", "-f", str(file))
    until(shared, "well", "Complete")
    assert "rayjob.ray.io/well SUCCEEDED" in shared.run("up", "-f", str(file))


def test_a_program_is_run_from_the_command_line_in_its_directory_and_its_code_is_ours(ray_fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(f"WORD = {ODD!r}")
    (tmp_path / "x.py").write_text("import lib, sys; assert sys.argv[1] == lib.WORD; print('it ran'); sys.exit(7)")
    words = ("job", "submit", "--name", "by-hand", "--memory", "2Gi", "--ttl", "15", "--working-dir", str(tmp_path))
    done = subprocess.run([*ray_fleet.command(*words), "--", "python", "x.py", ODD], capture_output=True, text=True, timeout=200)
    assert done.returncode == 7, done
    assert "it ran" in done.stdout and "exit code 7" in done.stderr
    assert len(clusters(ray_fleet, "by-hand")) == 1, "not before its time"
    eventually(lambda: clusters(ray_fleet, "by-hand") == [], 60.0, "the cluster is gone")


def test_a_head_of_sidecar_mode_that_is_killed_is_a_counted_try_and_the_next_one_has_another_cluster(ray_fleet: Fleet) -> None:
    ray_fleet.apply(ray_job("beside", "import time; time.sleep(1000)", "SidecarMode", backoffLimit=1))
    first = until(ray_fleet, "beside", "Running")
    kill_head(ray_fleet, first["rayClusterName"], f"RAY_JOB_SUBMISSION_ID={first['jobId']}")
    eventually(lambda: status(ray_fleet, "beside").get("failed") == 1, 60.0, "the try is counted")
    said = until(ray_fleet, "beside", "Running", "Failed")
    assert said["jobDeploymentStatus"] == "Running" and said["failed"] == 1, said
    assert clusters(ray_fleet, "beside") == [said["rayClusterName"]] != [first["rayClusterName"]]
    ray_fleet.run("delete", "rayjob", "beside")


def test_a_job_that_is_suspended_and_resumed_runs_on_a_new_cluster(ray_fleet: Fleet) -> None:
    ray_fleet.apply(ray_job("again", "import time; time.sleep(6)", "HTTPMode"))
    first = until(ray_fleet, "again", "Running")
    ray_fleet.request("PATCH", f"{JOBS}/again", {"spec": {"suspend": True}}, kind=MERGE)
    until(ray_fleet, "again", "Suspended")
    assert clusters(ray_fleet, "again") == []
    ray_fleet.request("PATCH", f"{JOBS}/again", {"spec": {"suspend": False}}, kind=MERGE)
    said = until(ray_fleet, "again", "Complete", "Failed")
    assert (said["jobStatus"], said["jobId"] == first["jobId"]) == ("SUCCEEDED", False)


def test_a_deadline_stops_the_job(shared: Fleet) -> None:
    shared.apply(shared_job("late", "import time; time.sleep(1000)", "HTTPMode", activeDeadlineSeconds=10))
    said = until(shared, "late", "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "STOPPED", "DeadlineExceeded"), said


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode"])
def test_a_failure_is_told_in_the_programs_own_words(shared: Fleet, mode: str) -> None:
    name, code = f"fails-{mode.lower()}", "raise ValueError('no such column: price')"
    shared.apply((ray_job if mode == "SidecarMode" else shared_job)(name, code, mode))
    if mode == "InteractiveMode":
        start_by_hand(shared, name, code)
    said = until(shared, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "FAILED", "AppFailed"), said
    assert "ValueError: no such column: price" in said["message"]


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_retry_on_the_living_cluster_finds_what_the_first_try_has_left(shared: Fleet, mode: str) -> None:
    name = f"retried-{mode.lower()}"
    code = f"import os; path = '/tmp/{name}'; there = os.path.exists(path); open(path, 'w').close(); assert there, 'the first try'"
    shared.apply(shared_job(name, code, mode, backoffLimit=1))
    said = until(shared, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["failed"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1, 1), said


def test_with_a_head_that_is_killed_the_jobs_of_every_mode_are_lost_and_none_runs_again(shared: Fleet) -> None:
    modes = {f"lost-{mode.lower()}": mode for mode in ("HTTPMode", "K8sJobMode", "InteractiveMode")}
    code = "import time; time.sleep(1000)"
    shared.apply(*(shared_job(name, code, mode) for name, mode in modes.items()))
    start_by_hand(shared, "lost-interactivemode", code)
    for name in modes:
        eventually(lambda name=name: status(shared, name).get("jobStatus") == "RUNNING", 60.0, f"{name} runs")  # type: ignore[misc]
    kill_head(shared, SHARED)
    for name in modes:
        said = until(shared, name, "Complete", "Failed")
        assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "FAILED", "JobRecordLost"), said
    shared.ready(SHARED, 0)
    assert ask(f"{shared.dashboard(f'{SHARED}-head-svc')}/api/jobs/") == []
