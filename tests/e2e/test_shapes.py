"""Real Ray in unusual shapes: own command, own Service, moved ports, replicas of two hosts, groups that go, suspension.

The tests are told in their order; each begins with what the one before has left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.fleet import GONE, READY, Cluster, Ground
from tests.local.ray import STORE, group, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True),
]

NAME = "shapes"
PORTS = {"port": "6390", "dashboard-port": "8365", "metrics-export-port": "8181", "dashboard-agent-listen-port": "52366"}
COUNT = """
import ray
ray.init(log_to_driver=False)
nodes = [node for node in ray.nodes() if node["Alive"]]
print("NODES", len(nodes), int(ray.cluster_resources().get("slice", 0)))
"""


def manifest() -> dict[str, Any]:
    head = {
        "rayStartParams": {**STORE, **PORTS, "num-cpus": "0"},
        "headService": {"metadata": {"name": "shapes-entry"}},
        "template": template("2Gi", command=["echo", "own-command"]),
    }
    pair = group("pair", numOfHosts=2, rayStartParams={**STORE, "resources": '{"slice": 1}', "num-cpus": "0"})
    return ray_cluster(NAME, pair, group("extra"), head=head)


@pytest.fixture(scope="module")
def shapes(site: Ground) -> Iterator[Cluster]:
    cluster = Cluster(site, NAME).create(manifest())
    yield cluster
    cluster.delete()
    cluster.await_nothing()


def test_all_nodes_join_over_moved_ports_and_a_service_of_the_users_own(shapes: Cluster) -> None:
    shapes.await_ready(3)
    assert shapes.found()["status"]["head"]["serviceName"] == "shapes-entry"
    assert shapes.found()["status"]["endpoints"]["dashboard"] == "8365"
    outcome = shapes.job(COUNT)
    assert outcome.status == "SUCCEEDED", outcome
    assert "NODES 4 2" in outcome.log


def test_the_users_command_ran_before_ray(shapes: Cluster) -> None:
    assert "own-command" in shapes.log(shapes.head())


def test_the_hosts_of_a_replica_carry_one_name(shapes: Cluster) -> None:
    marks = [pod["metadata"]["labels"] for pod in shapes.pods() if pod["metadata"]["labels"]["ray.io/group"] == "pair"]
    assert {mark["ray.io/replica-host-index"] for mark in marks} == {"0", "1"}
    assert len({mark["ray.io/worker-group-replica-name"] for mark in marks}) == 1


def test_a_group_that_is_taken_out_goes_and_the_others_stay(shapes: Cluster) -> None:
    before = shapes.uids()
    shapes.patch({"op": "remove", "path": "/spec/workerGroupSpecs/1"})
    shapes.await_ready(2)
    assert shapes.uids().items() < before.items()


@pytest.mark.parametrize("back", [{"op": "remove", "path": "/spec/suspend"}, {"op": "replace", "path": "/spec/suspend", "value": False}])
def test_a_suspended_cluster_runs_nothing_and_comes_back(shapes: Cluster, back: dict[str, Any]) -> None:
    before = shapes.uids()
    shapes.patch({"op": "add", "path": "/spec/suspend", "value": True})
    eventually(lambda: not shapes.children("pods"), GONE, "no Pod is left")
    eventually(lambda: shapes.found()["status"].get("state") == "suspended", GONE, "told")
    shapes.patch(back)
    shapes.await_ready(2)
    assert not before.keys() & shapes.uids().keys()
    eventually(lambda: "NODES 3 2" in shapes.job(COUNT).log, READY, "a job on the new Pods")
