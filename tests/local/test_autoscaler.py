"""Ray's own autoscaler beside the head: from no workers to two and back, by the demand of a real job."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest

from rayfleet.cli.ray_job import run_job
from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet
from tests.local.test_shapes import STORE, group, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

NAME = "elastic"
DEMAND = """
import ray, socket, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1)
def where():
    time.sleep(6); return socket.gethostname()
print("HOSTS", *sorted(set(ray.get([where.remote() for _ in range(4)]))))
"""


def cluster() -> dict[str, object]:
    head = {"rayStartParams": {**STORE, "num-cpus": "0"}, "template": template("2Gi")}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": NAME},
        "spec": {
            "rayVersion": "2.60.0",
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": 10},
            "headGroupSpec": head,
            "workerGroupSpecs": [group("small", replicas=0)],
        },
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(State(tmp_path_factory.mktemp("elastic") / "fleet"))
    file = fleet.state.path.parent / "elastic.json"
    file.write_text(json.dumps(cluster()))
    try:
        fleet.up("-f", str(file))
        yield fleet
    finally:
        assert end(fleet.state).left == ()


def test_demand_brings_workers_and_idleness_takes_them_by_name(fleet: Fleet) -> None:
    head = fleet.uids(NAME)
    assert len(head) == 1
    port = json.loads(fleet.state.ports.read_text())[f"dashboard/default/{NAME}-head-svc"]
    outcome = run_job(f"http://127.0.0.1:{port}", shlex.join(["python", "-c", DEMAND]))
    assert outcome.status == "SUCCEEDED", outcome
    line = next(line for line in outcome.log.splitlines() if line.startswith("HOSTS"))
    assert len(line.split()[1:]) == 2
    eventually(lambda: fleet.uids(NAME) == head, 90.0, "the idle workers are gone, and the head is the same")
    assert "workersToDelete lists it" in fleet.run("logs", f"raycluster/{NAME}")
