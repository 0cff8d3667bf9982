"""Hosted autoscaling: one operator sizes two clusters at once by what their real Ray says, from no workers to two and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.fleet import Cluster, Ground
from tests.e2e.laptop import Laptop
from tests.local.ray import STORE, group, ray_cluster
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True),
]

IDLE = 90.0  # seconds; the workers may be idle for ten of them
DEMAND = """
import ray, socket, subprocess, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1)
def where(seconds):
    time.sleep(seconds); return socket.gethostname()
waiting = [where.remote(6) for _ in range(4)]
while "small" not in (told := subprocess.run(["ray", "status"], capture_output=True, text=True).stdout).partition("Recent failures")[0]:
    time.sleep(0.5)
print(told)
print("HOSTS", *sorted(set(ray.get(waiting))))
"""
SPREAD = """
import ray
from ray.util.placement_group import placement_group
ray.init(log_to_driver=False)
ray.get(placement_group([{"CPU": 1}] * 2, strategy="STRICT_SPREAD").ready())
print("PLACED")
"""
ACTOR = """
import ray, socket, time
ray.init(log_to_driver=False, namespace="kept")
@ray.remote(num_cpus=1, lifetime="detached", name="keeper")
class Keeper:
    def where(self): return socket.gethostname()
@ray.remote(num_cpus=1)
def pause(): time.sleep(3)
other = pause.remote()
print("KEPT", ray.get(Keeper.remote().where.remote()))
ray.get(other)
"""


@pytest.fixture(scope="module")
def pair(site: Ground) -> Iterator[list[Cluster]]:
    head = {"rayStartParams": {**STORE, "num-cpus": "0"}}
    groups = group("small", replicas=0, maxReplicas=2)
    clusters = []
    for name in ("left", "right"):
        options = {"idleTimeoutSeconds": 10}
        manifest = ray_cluster(name, groups, head=head, enableInTreeAutoscaling=True, autoscalerOptions=options)
        manifest["metadata"]["annotations"] = {"rayfleet.dev/autoscaling": "hosted"}
        clusters.append(Cluster(site, name).create(manifest))
    yield clusters
    for cluster in clusters:
        cluster.delete()
    for cluster in clusters:
        cluster.await_nothing()


def test_demand_brings_workers_to_both_and_idleness_takes_them(pair: list[Cluster]) -> None:
    for cluster in pair:
        cluster.await_ready(0)
        (head,) = cluster.of("head")
        assert [container["name"] for container in head["spec"]["containers"]] == ["ray"]
        assert cluster.children("serviceaccounts") == []
    heads = [cluster.uids() for cluster in pair]
    with ThreadPoolExecutor(2) as together:
        outcomes = list(together.map(lambda cluster: cluster.job(DEMAND), pair))
    for cluster, outcome in zip(pair, outcomes, strict=True):
        assert outcome.status == "SUCCEEDED", (outcome, cluster.found()["status"], cluster.notes())
        lines = outcome.log.splitlines()
        hosts = next(line for line in lines if line.startswith("HOSTS")).split()[1:]
        assert len(hosts) == 2, lines
        assert all(host.startswith(f"{cluster.name}-small-worker-") for host in hosts)
        assert condition(cluster) == ("True", "Working")
    for cluster, head in zip(pair, heads, strict=True):
        eventually(lambda cluster=cluster, head=head: cluster.uids() == head, IDLE, f"{cluster.name} has only its head\n{cluster.notes()}")
        assert any("workersToDelete lists it" in note for note in cluster.notes())
        assert any("small: 0 -> 2" in note or "small 0 -> 2" in note for note in cluster.notes()), cluster.notes()


def test_a_placement_group_is_spread_and_a_detached_actor_keeps_its_node(pair: list[Cluster]) -> None:
    """On one server: what is decided is the same on both."""
    left, right = pair
    if not isinstance(left.site, Laptop):
        pytest.skip("shown on the laptop")
    with ThreadPoolExecutor(2) as together:
        spread, kept = together.submit(left.job, SPREAD), together.submit(right.job, ACTOR)
        assert "PLACED" in spread.result().log, spread.result()
        line = next(line for line in kept.result().log.splitlines() if line.startswith("KEPT"))
    eventually(lambda: not left.workers(), IDLE, f"the group's nodes are gone\n{left.notes()}")
    eventually(lambda: right.workers() == {line.split()[1]}, IDLE, f"only the actor's node is left\n{right.notes()}")
    told = json.loads(left.site.fleet.run("autoscaler", "right", "-o", "json"))
    assert (told["sizedBy"], [group["replicas"] for group in told["groups"]]) == ("the operator", [1])
    assert {each["state"] for each in told["instances"] if each["phase"] == "Running"} == {"ALIVE"}


def test_a_new_head_is_heard_and_its_demand_met(pair: list[Cluster]) -> None:
    left, _ = pair
    if not isinstance(left.site, Laptop):
        pytest.skip("shown on the laptop")
    before = left.head()
    left.lose(before)
    eventually(lambda: left.of("head") and left.head() != before, IDLE, "there is another head")
    left.await_ready(0)
    outcome = left.job(SPREAD)
    assert "PLACED" in outcome.log, (outcome, left.notes())


def condition(cluster: Cluster) -> tuple[str, str]:
    found = next(each for each in cluster.found()["status"]["conditions"] if each["type"] == "Autoscaling")
    return found["status"], found["reason"]
