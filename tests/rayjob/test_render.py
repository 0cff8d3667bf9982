"""`rayfleet render` of a RayJob: its cluster with all that belongs to it, its submitter, its Service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rayfleet.cli.main import rayfleet
from rayfleet.sim.job_life import cluster_spec


def rendered(directory: Path, code: int = 0, **spec: Any) -> list[dict[str, Any]]:
    file = directory / "job.json"
    given = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec(), **spec}
    file.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}, "spec": given}))
    done = CliRunner().invoke(rayfleet, ["render", "-f", str(file), "-o", "json"], prog_name="rayfleet")
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    return list(found["items"] if isinstance(found, dict) else found)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("K8sJobMode", ["RayCluster", "Service", "Pod", "Job", "Service"]),
        ("HTTPMode", ["RayCluster", "Service", "Pod", "Service"]),
        ("SidecarMode", ["RayCluster", "Service", "Pod", "Service"]),
    ],
)
def test_everything_that_a_job_makes(mode: str, kinds: list[str], tmp_path: Path) -> None:
    made = rendered(tmp_path, submissionMode=mode)
    assert [each["kind"] for each in made] == kinds
    cluster, head = made[0], made[2]
    assert made[-1]["spec"]["selector"]["ray.io/cluster"] == cluster["metadata"]["name"]
    names = [container["name"] for container in head["spec"]["containers"]]
    assert names == (["ray-head", "ray-job-submitter"] if mode == "SidecarMode" else ["ray-head"])


def test_the_same_file_gives_the_same(tmp_path: Path) -> None:
    assert rendered(tmp_path) == rendered(tmp_path)


def test_a_job_that_is_suspended_makes_nothing_and_one_that_is_wrong_is_refused(tmp_path: Path) -> None:
    assert rendered(tmp_path, suspend=True, shutdownAfterJobFinishes=True) == []
    assert rendered(tmp_path, code=1, submissionMode="Other") == []
