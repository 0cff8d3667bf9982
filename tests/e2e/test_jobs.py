"""RayJobs with real Ray, on a laptop as on Kubernetes: every mode, and the command line by the API server's proxy, with a token.

Most jobs run on one cluster that is there; that of SidecarMode has its own, as it must.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayfleet.cli.ray_job import ask
from tests.e2e.fleet import READY, Cluster, Ground
from tests.local.ray import STORE, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True),
]

NAME = "jobs"
JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
PROGRAM = "import ray; ray.init(); print('sum', sum(ray.get([ray.put(n) for n in range(10)])))"


@pytest.fixture(scope="module")
def shared(site: Ground) -> Iterator[Cluster]:
    cluster = Cluster(site, NAME).create(ray_cluster(NAME, authOptions={"mode": "token"}))
    cluster.await_ready(0)
    yield cluster
    for job in site.request("GET", JOBS)[1]["items"]:  # with the Pods of their submitters
        assert site.request("DELETE", f"{JOBS}/{job['metadata']['name']}")[0] == 200
    cluster.delete()
    cluster.await_nothing()


def make(site: Ground, name: str, mode: str, **spec: Any) -> None:
    whole = {"submissionMode": mode, "entrypoint": f'python -c "{PROGRAM}"', **spec}
    code, answer = site.request("POST", JOBS, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": whole})
    assert code == 201, answer


def until(site: Ground, name: str, *states: str) -> dict[str, Any]:
    def status() -> dict[str, Any]:
        return site.request("GET", f"{JOBS}/{name}")[1].get("status") or {}

    eventually(lambda: status().get("jobDeploymentStatus") in states, READY, f"{name} is {' or '.join(states)}\n{site.told()}")
    return status()


def run(site: Ground, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(site.command("job", *words), capture_output=True, text=True, timeout=READY)


def test_every_mode_runs_to_success(site: Ground, shared: Cluster) -> None:
    selected = {"clusterSelector": {"ray.io/cluster": NAME}}
    for mode in ("HTTPMode", "K8sJobMode", "InteractiveMode"):
        make(site, f"with-{mode.lower()}", mode, **selected)
    own = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": template("2Gi")}}
    make(site, "with-sidecarmode", "SidecarMode", rayClusterSpec=own, shutdownAfterJobFinishes=True)
    until(site, "with-interactivemode", "Waiting")
    token = shared.secret(NAME)["auth_token"].decode()
    body = {"entrypoint": f'python -c "{PROGRAM}"', "submission_id": "by-hand"}
    ask(f"{site.dashboard(shared.found())}/api/jobs/", body, token)
    patch = [{"op": "add", "path": "/spec/jobId", "value": "by-hand"}]
    assert site.request("PATCH", f"{JOBS}/with-interactivemode", patch, kind="application/json-patch+json")[0] == 200
    for name in ("with-httpmode", "with-k8sjobmode", "with-interactivemode", "with-sidecarmode"):
        said = until(site, name, "Complete", "Failed")
        assert (said["jobDeploymentStatus"], said["jobStatus"], said["succeeded"]) == ("Complete", "SUCCEEDED", 1), said


def test_a_program_that_fails_tells_its_words_and_its_code(site: Ground, shared: Cluster, tmp_path: Path) -> None:
    code = "import sys, time; print('at work', flush=True); time.sleep(2); print('no such column: price'); sys.exit(3)"
    (tmp_path / "x.py").write_text(code)
    done = run(site, "submit", "--cluster", NAME, "--name", "fails", "--working-dir", str(tmp_path), "python", "x.py")
    assert done.returncode == 3 and "at work\nno such column: price" in done.stdout, done
    said = until(site, "fails", "Complete", "Failed")
    assert (said["jobDeploymentStatus"], said["reason"]) == ("Failed", "AppFailed") and "no such column: price" in said["message"]


def test_a_job_is_stopped(site: Ground, shared: Cluster) -> None:
    assert run(site, "submit", "--cluster", NAME, "--name", "endless", "--no-wait", "sleep 1000").returncode == 0
    until(site, "endless", "Running")
    done = run(site, "stop", "endless")
    assert done.returncode == 0 and "STOPPED (JobStopped)" in done.stderr, done
    assert run(site, "logs", "endless", "-f").returncode == 130
    listed = [line.split()[:3] for line in run(site, "list").stdout.splitlines()]
    assert ["endless", "STOPPED", "Complete"] in listed and ["fails", "FAILED", "Failed"] in listed, listed
