"""Real Ray in unusual shapes: own command, own Service, moved ports, replicas of two hosts, groups that go, suspension."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from rayfleet.cli.ray_job import run_job
from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet
from tests.local.test_ray import IMPATIENT
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

NAME = "shapes"
STORE = {"object-store-memory": "100000000"}
PORTS = {"port": "6390", "dashboard-port": "8365", "metrics-export-port": "8181", "dashboard-agent-listen-port": "52366"}
COUNT = """
import ray
ray.init(log_to_driver=False)
nodes = [node for node in ray.nodes() if node["Alive"]]
print("NODES", len(nodes), int(ray.cluster_resources().get("slice", 0)))
"""


def template(memory: str, **container: Any) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in IMPATIENT.items()]
    limits = {"cpu": "1", "memory": memory}
    return {
        "spec": {
            "containers": [{"name": "ray", "image": "rayproject/ray:2.60.0", "resources": {"limits": limits}, "env": env, **container}]
        }
    }


def group(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "groupName": name,
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 2,
        "rayStartParams": STORE,
        "template": template("1Gi"),
        **fields,
    }


def cluster() -> dict[str, Any]:
    head = {
        "rayStartParams": {**STORE, **PORTS, "num-cpus": "0"},
        "headService": {"metadata": {"name": "shapes-entry"}},
        "template": template("2Gi", command=["echo", "own-command"]),
    }
    pair = group("pair", numOfHosts=2, rayStartParams={**STORE, "resources": '{"slice": 1}', "num-cpus": "0"})
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": NAME},
        "spec": {"rayVersion": "2.60.0", "headGroupSpec": head, "workerGroupSpecs": [pair, group("extra")]},
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(State(tmp_path_factory.mktemp("shapes") / "fleet"))
    file = fleet.state.path.parent / "shapes.json"
    file.write_text(json.dumps(cluster()))
    try:
        fleet.up("-f", str(file))
        yield fleet
    finally:
        assert end(fleet.state).left == ()


def dashboard(fleet: Fleet) -> int:
    return int(json.loads(fleet.state.ports.read_text())["dashboard/default/shapes-entry"])


def test_all_nodes_join_over_moved_ports_and_a_service_of_the_users_own(fleet: Fleet) -> None:
    fleet.ready(NAME, 3)
    outcome = run_job(f"http://127.0.0.1:{dashboard(fleet)}", shlex.join(["python", "-c", COUNT]))
    assert outcome.status == "SUCCEEDED", outcome
    assert "NODES 4 2" in outcome.log


def test_the_users_command_ran_before_ray(fleet: Fleet) -> None:
    (head,) = [name for name, pod in fleet.pods(NAME).items() if pod["metadata"]["labels"]["ray.io/node-type"] == "head"]
    assert "own-command" in fleet.run("logs", head)


def test_the_hosts_of_a_replica_carry_one_name(fleet: Fleet) -> None:
    marks = [pod["metadata"]["labels"] for pod in fleet.pods(NAME).values() if pod["metadata"]["labels"]["ray.io/group"] == "pair"]
    assert {mark["ray.io/replica-host-index"] for mark in marks} == {"0", "1"}
    assert len({mark["ray.io/worker-group-replica-name"] for mark in marks}) == 1


def test_a_group_that_is_taken_out_goes_and_the_others_stay(fleet: Fleet) -> None:
    before = fleet.uids(NAME)
    smaller = cluster()
    smaller["spec"]["workerGroupSpecs"].pop()
    fleet.apply(smaller)
    fleet.ready(NAME, 2)
    assert fleet.uids(NAME).items() <= before.items()


def test_a_suspended_cluster_runs_nothing_and_comes_back_when_the_field_is_removed(fleet: Fleet) -> None:
    wanted = cluster()
    wanted["spec"]["workerGroupSpecs"].pop()
    suspended = json.loads(json.dumps(wanted))
    suspended["spec"]["suspend"] = True
    fleet.apply(suspended)
    eventually(lambda: not fleet.children(NAME), 60.0, "no Pod is left")
    eventually(
        lambda: fleet.read(f"/apis/ray.io/v1/namespaces/default/rayclusters/{NAME}")["status"].get("state") == "suspended", 20.0, "told"
    )
    fleet.apply(wanted)
    fleet.ready(NAME, 2)
    with socket.create_connection(("127.0.0.1", dashboard(fleet)), timeout=10):
        pass
