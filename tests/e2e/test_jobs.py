"""RayJobs with real Ray, on a laptop as on Kubernetes: every mode to its end, failure in the program's own words, suspension, retries,
deadlines, lost heads, odd characters, and the command line by the API server's proxy, with a token.

What needs no cluster of its own runs on one that all share; its head is killed at last.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayfleet.cli.ray_job import ask
from tests.e2e.fleet import READY, WHERE_RARE, Cluster, Ground
from tests.e2e.laptop import Laptop
from tests.local.ray import STORE, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]
everywhere = pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True)
rarely = pytest.mark.parametrize("site", WHERE_RARE, indirect=True)

NAME = "jobs"
JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
PROGRAM = "import ray; ray.init(); print('sum', sum(ray.get([ray.put(n) for n in range(10)])))"
ENDLESS = "import time; time.sleep(1000)"
ODD = 'it\'s "quoted" && `id` $HOME $(RAY_IP) $$ ; | > < * ? [a] {b} ~ # ! % & \t é 東京 \\n \nend'


@pytest.fixture(scope="module", autouse=True)
def swept(site: Ground) -> Iterator[None]:
    """At the end no job is left, with the Pods of its submitters."""
    yield
    for job in site.request("GET", JOBS)[1]["items"]:
        assert site.request("DELETE", f"{JOBS}/{job['metadata']['name']}")[0] in (200, 404)
    eventually(lambda: not site.request("GET", JOBS)[1]["items"], READY, "no job is left")


@pytest.fixture(scope="module")
def shared(site: Ground, swept: None) -> Iterator[Cluster]:
    cluster = Cluster(site, NAME).create(ray_cluster(NAME, authOptions={"mode": "token"}))
    cluster.await_ready(0)
    yield cluster
    cluster.delete()
    cluster.await_nothing()


def job_of(name: str, code: str, mode: str, **spec: Any) -> dict[str, Any]:
    """Of Python code, on the cluster that all share, where it may be tried again."""
    entrypoint = "" if mode == "InteractiveMode" else f"python -c {quoted(code)}"
    where = {} if "rayClusterSpec" in spec else {"clusterSelector": {"ray.io/cluster": NAME}}
    meta = {"name": name, "annotations": {"rayfleet.dev/retry-policy": "SameCluster"} if where else {}}
    whole = {"submissionMode": mode, "entrypoint": entrypoint, **where, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": whole}


def make(site: Ground, name: str, code: str, mode: str, **spec: Any) -> None:
    number, answer = site.request("POST", JOBS, job_of(name, code, mode, **spec))
    assert number == 201, answer


def make_alone(site: Ground, name: str, code: str, mode: str, **spec: Any) -> None:
    """On a head of its own, which goes with it."""
    cluster = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": template("2Gi")}}
    make(site, name, code, mode, rayClusterSpec=cluster, shutdownAfterJobFinishes=True, **spec)


def quoted(code: str) -> str:
    return "'" + code.replace("'", "'\"'\"'") + "'"


def change(site: Ground, name: str, field: str, value: Any) -> None:
    patch = [{"op": "add", "path": f"/spec/{field}", "value": value}]
    assert site.request("PATCH", f"{JOBS}/{name}", patch, kind="application/json-patch+json")[0] == 200


def status(site: Ground, name: str) -> dict[str, Any]:
    return site.request("GET", f"{JOBS}/{name}")[1].get("status") or {}


def until(site: Ground, name: str, *states: str) -> dict[str, Any]:
    def reached() -> bool:
        return status(site, name).get("jobDeploymentStatus") in states

    eventually(reached, READY, f"{name} is {' or '.join(states)}\n{site.told()}")
    return status(site, name)


def clusters(site: Ground, name: str) -> list[str]:
    names = [each["metadata"]["name"] for each in site.request("GET", CLUSTERS)[1]["items"]]
    return [each for each in names if each.startswith(f"{name}-")]


def start_by_hand(site: Ground, shared: Cluster, name: str, code: str) -> None:
    """What the user of InteractiveMode does: submit to the cluster, and name the job."""
    until(site, name, "Waiting")
    token = shared.secret(NAME)["auth_token"].decode()
    body = {"entrypoint": f"python -c {quoted(code)}", "submission_id": f"{name}-by-hand"}
    ask(f"{site.dashboard(shared.found())}/api/jobs/", body, token)
    change(site, name, "jobId", f"{name}-by-hand")


def run(site: Ground, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(site.command("job", *words), capture_output=True, text=True, timeout=READY)


@everywhere
def test_every_mode_runs_to_success(site: Ground, shared: Cluster) -> None:
    for mode in ("HTTPMode", "K8sJobMode", "InteractiveMode"):
        make(site, f"with-{mode.lower()}", PROGRAM, mode)
    make_alone(site, "with-sidecarmode", PROGRAM, "SidecarMode")
    start_by_hand(site, shared, "with-interactivemode", PROGRAM)
    for name in ("with-httpmode", "with-k8sjobmode", "with-interactivemode", "with-sidecarmode"):
        said = until(site, name, "Complete", "Failed")
        assert (said["jobDeploymentStatus"], said["jobStatus"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1), said


@everywhere
def test_a_program_that_fails_tells_its_words_and_its_code(site: Ground, shared: Cluster, tmp_path: Path) -> None:
    code = "import sys, time; print('at work', flush=True); time.sleep(2); print('no such column: price'); sys.exit(3)"
    (tmp_path / "x.py").write_text(code)
    done = run(site, "submit", "--cluster", NAME, "--name", "fails", "--working-dir", str(tmp_path), "python", "x.py")
    assert done.returncode == 3 and "at work\nno such column: price" in done.stdout, done
    said = until(site, "fails", "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["reason"]) == ("Failed", "AppFailed") and "no such column: price" in said["message"]


@everywhere
def test_a_job_is_stopped(site: Ground, shared: Cluster) -> None:
    assert run(site, "submit", "--cluster", NAME, "--name", "endless", "--no-wait", "sleep 1000").returncode == 0
    until(site, "endless", "Running")
    done = run(site, "stop", "endless")
    assert done.returncode == 0 and "STOPPED (JobStopped)" in done.stderr, done
    assert run(site, "logs", "endless", "-f").returncode == 130
    listed = [line.split()[:3] for line in run(site, "list").stdout.splitlines()]
    assert ["endless", "STOPPED", "Complete"] in listed and ["fails", "FAILED", "Failed"] in listed, listed


@rarely
@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_of_odd_characters_runs_to_its_end_and_leaves_no_cluster(site: Ground, mode: str) -> None:
    name = f"odd-{mode.lower()}"
    code = f"said = {ODD!r}.encode().hex(); assert said == '{ODD.encode().hex()}', said"
    make_alone(site, name, code, mode, runtimeEnvYAML="env_vars: {A: b}", metadata={"odd": ODD})
    said = until(site, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1), said
    eventually(lambda: clusters(site, name) == [], READY, "the cluster is gone")


@pytest.mark.parametrize("site", ["laptop"], indirect=True)
def test_up_waits_for_jobs_and_its_code_is_how_they_ended(site: Laptop, shared: Cluster, tmp_path: Path) -> None:
    fleet, file = site.fleet, tmp_path / "jobs.json"
    well, badly = job_of("well", "print(1)", "HTTPMode"), job_of("badly", "import sys; sys.exit('it is broken')", "HTTPMode")
    file.write_text("\n---\n".join(map(json.dumps, (well, badly))))
    fleet.run("apply", "-f", str(file))
    until(site, "badly", "Failed")
    assert "rayjob.ray.io/badly FAILED (AppFailed)" in fleet.run("up", "-f", str(file), code=1)
    file.write_text(json.dumps(well))
    assert "Log of rayjob/well: rayfleet job logs well" in fleet.run("up", "-f", str(file))
    until(site, "well", "Complete")
    assert "rayjob.ray.io/well SUCCEEDED" in fleet.run("up", "-f", str(file))


@rarely
def test_a_program_is_run_from_the_command_line_in_its_directory_and_its_code_is_ours(site: Ground, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(f"WORD = {ODD!r}")
    (tmp_path / "x.py").write_text("import lib, sys; assert sys.argv[1] == lib.WORD; print('it ran'); sys.exit(7)")
    words = ("--name", "by-hand", "--memory", "2Gi", "--ttl", "15", "--working-dir", str(tmp_path))
    done = run(site, "submit", *words, "python", "x.py", ODD)
    assert done.returncode == 7, done
    assert "it ran" in done.stdout and "exit code 7" in done.stderr
    assert len(clusters(site, "by-hand")) == 1, "not before its time"
    eventually(lambda: clusters(site, "by-hand") == [], READY, "the cluster is gone")


@rarely
def test_a_head_of_sidecar_mode_that_is_killed_is_a_counted_try_and_the_next_one_has_another_cluster(site: Ground) -> None:
    make_alone(site, "beside", ENDLESS, "SidecarMode", backoffLimit=1)
    first = until(site, "beside", "Running")
    cluster = Cluster(site, first["rayClusterName"])
    cluster.lose(cluster.head(), f"RAY_JOB_SUBMISSION_ID={first['jobId']}")
    eventually(lambda: status(site, "beside").get("failed") == 1, READY, "the try is counted")
    said = until(site, "beside", "Running", "Failed")
    assert said["jobDeploymentStatus"] == "Running" and said["failed"] == 1, said
    assert clusters(site, "beside") == [said["rayClusterName"]] != [first["rayClusterName"]]
    assert site.request("DELETE", f"{JOBS}/beside")[0] == 200


@rarely
def test_a_job_that_is_suspended_and_resumed_runs_on_a_new_cluster(site: Ground) -> None:
    make_alone(site, "again", "import time; time.sleep(6)", "HTTPMode")
    first = until(site, "again", "Running")
    change(site, "again", "suspend", True)
    until(site, "again", "Suspended")
    assert clusters(site, "again") == []
    change(site, "again", "suspend", False)
    said = until(site, "again", "Complete", "Failed")
    assert (said["jobStatus"], said["jobId"] == first["jobId"]) == ("SUCCEEDED", False)


@rarely
def test_a_deadline_stops_the_job(site: Ground, shared: Cluster) -> None:
    make(site, "late", ENDLESS, "HTTPMode", activeDeadlineSeconds=10)
    said = until(site, "late", "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "STOPPED", "DeadlineExceeded"), said


@rarely
@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode"])
def test_a_failure_is_told_in_the_programs_own_words(site: Ground, shared: Cluster, mode: str) -> None:
    name, code = f"fails-{mode.lower()}", "raise ValueError('no such column: price')"
    (make_alone if mode == "SidecarMode" else make)(site, name, code, mode)
    if mode == "InteractiveMode":
        start_by_hand(site, shared, name, code)
    said = until(site, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "FAILED", "AppFailed"), said
    assert "ValueError: no such column: price" in said["message"]


@rarely
@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_retry_on_the_living_cluster_finds_what_the_first_try_has_left(site: Ground, shared: Cluster, mode: str) -> None:
    name = f"retried-{mode.lower()}"
    code = f"import os; path = '/tmp/{name}'; there = os.path.exists(path); open(path, 'w').close(); assert there, 'the first try'"
    make(site, name, code, mode, backoffLimit=1)
    said = until(site, name, "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["jobStatus"], said["failed"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1, 1), said


@rarely
def test_with_a_head_that_is_killed_the_jobs_of_every_mode_are_lost_and_none_runs_again(site: Ground, shared: Cluster) -> None:
    modes = {f"lost-{mode.lower()}": mode for mode in ("HTTPMode", "K8sJobMode", "InteractiveMode")}
    for name, mode in modes.items():
        make(site, name, ENDLESS, mode)
    start_by_hand(site, shared, "lost-interactivemode", ENDLESS)
    for name in modes:
        eventually(lambda name=name: status(site, name).get("jobStatus") == "RUNNING", READY, f"{name} runs")  # type: ignore[misc]
    shared.lose(shared.head())
    for name in modes:
        said = until(site, name, "Complete", "Failed")
        assert (said["jobDeploymentStatus"], said["jobStatus"], said["reason"]) == ("Failed", "FAILED", "JobRecordLost"), said
    shared.await_ready(0)
    token = shared.secret(NAME)["auth_token"].decode()
    assert ask(f"{site.dashboard(shared.found())}/api/jobs/", token=token) == []
