"""Real Ray under both old formats: what `convert` makes of a `ray up` YAML, and a resource of the Python operator as it is."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rayfleet.api.legacy.definition import old_crd
from rayfleet.cli.ray_job import run_job
from tests.local.fleet import Fleet
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]
LEGACY = Path(__file__).parents[2] / "examples" / "legacy"
OLD = "/apis/cluster.ray.io/v1/namespaces/default/rayclusters/old"
TODAY = "/apis/ray.io/v1/namespaces/default/rayclusters/old"
TASK = """
import ray
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1, resources={NAME: 1})
def task():
    return "done on a worker"
print(ray.get(task.remote()))
"""


def runs_a_task(fleet: Fleet, cluster: str, resource: str) -> None:
    """On a worker: only workers have the resource."""
    fleet.ready(cluster, 1)
    code = TASK.replace("NAME", repr(resource))
    outcome = run_job(fleet.dashboard(f"{cluster}-head-svc"), shlex.join(["python", "-c", code]))
    assert outcome.status == "SUCCEEDED" and "done on a worker" in outcome.log, outcome


def test_both_old_formats_come_to_a_cluster_that_runs_a_task(ray_fleet: Fleet) -> None:
    convert = [sys.executable, "-m", "rayfleet", "convert", "-f", str(LEGACY / "ray-up.yaml")]
    made = subprocess.run(convert, capture_output=True, text=True, check=True).stdout
    ray_fleet.run("apply", "-f", "-", text=made)
    runs_a_task(ray_fleet, "up", "foo")
    ray_fleet.run("delete", "-f", "-", text=made)

    ray_fleet.apply(old_crd())
    ray_fleet.run("apply", "-f", str(LEGACY / "resource.yaml"))
    eventually(lambda: ray_fleet.read(TODAY), 60.0, "the cluster of today is made")
    runs_a_task(ray_fleet, "old", "Custom1")
    eventually(lambda: ray_fleet.read(OLD)["status"].get("phase") == "Running", 30.0, "the old object says so")
    ray_fleet.send("DELETE", OLD)
    eventually(lambda: ray_fleet.read(TODAY) is None and not ray_fleet.children("old"), 60.0, "all of it is gone")
    ray_fleet.send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.cluster.ray.io")
