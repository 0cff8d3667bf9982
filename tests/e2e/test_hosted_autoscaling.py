"""Hosted autoscaling: one operator sizes two clusters at once by what their real Ray says, from no workers to three and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rayfleet.cli.ray_job import Outcome
from tests.e2e.fleet import WHERE_RARE, Cluster, Ground
from tests.e2e.laptop import Laptop
from tests.local.ray import STORE, group, ray_cluster
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True),
]

IDLE = 180.0  # seconds; the workers may be idle for six of them
DONE = 900.0  # 45 on an idle machine
# Each task holds its worker's only CPU until all three run and Ray tells of them. One that waited by ray.get would give it back
# meanwhile, and one that has not begun when another ends is given to that one's process.
DEMAND = """
import ray, re, socket, subprocess, time
from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_list, _internal_kv_put
ray.init(log_to_driver=False)
def until(words):
    told = ""
    while not re.search(words, told):
        time.sleep(0.5)
        told = subprocess.run(["ray", "status"], capture_output=True, text=True).stdout.partition("Recent failures")[0]
    print(told)
@ray.remote(num_cpus=1)
def where():
    _internal_kv_put("at " + socket.gethostname(), "yes")
    while not _internal_kv_get("open"):
        time.sleep(0.5)
    return socket.gethostname()
waiting = [where.remote() for _ in range(3)]
while len(_internal_kv_list("at ")) < 3:
    time.sleep(0.5)
until(" 3 small")  # not before: it takes a processor, which the workers need for their start
_internal_kv_put("open", "yes")
print("HOSTS", *sorted(set(ray.get(waiting))))
"""
# Longer than workers may be idle, and longer than it takes to ask again.
REQUEST = """
import ray, time
from ray.autoscaler.sdk import request_resources
ray.init(log_to_driver=False)
def nodes():
    return sum(node["Alive"] for node in ray.nodes())
request_resources(num_cpus=2)
while nodes() < 3:
    time.sleep(0.5)
since = time.monotonic()
while nodes() == 3 and time.monotonic() < since + 14:
    time.sleep(0.5)
print("NODES", nodes())
"""
SPREAD = """
import ray
from ray.autoscaler.sdk import request_resources
from ray.util.placement_group import placement_group
ray.init(log_to_driver=False)
request_resources(num_cpus=0)
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
    groups = group("small", replicas=0, maxReplicas=3)
    clusters = []
    for name in ("left", "right"):
        options = {"idleTimeoutSeconds": 6}
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
        outcomes = list(together.map(lambda cluster: cluster.job(DEMAND, within=DONE), pair))
    for cluster, outcome in zip(pair, outcomes, strict=True):
        assert outcome.status == "SUCCEEDED", told(cluster, outcome)
        lines = outcome.log.splitlines()
        hosts = next(line for line in lines if line.startswith("HOSTS")).split()[1:]
        assert len(hosts) == 3, outcome.log
        assert all(host.startswith(f"{cluster.name}-small-worker-") for host in hosts)
        eventually(lambda cluster=cluster: condition(cluster) == ("True", "Working"), what=f"{cluster.name} is asked, and well")
    for cluster, head in zip(pair, heads, strict=True):
        eventually(lambda cluster=cluster, head=head: cluster.uids() == head, IDLE, f"{cluster.name} has only its head\n{cluster.notes()}")
        for words in ("workersToDelete lists it", r"pending for \d+ s: small \d -> [123]"):  # events come after what they tell of
            eventually(lambda cluster=cluster, words=words: any(re.search(words, note) for note in cluster.notes()), what=words)


def test_requests_are_kept_a_placement_group_is_spread_and_a_detached_actor_keeps_its_node(pair: list[Cluster]) -> None:
    left, right = pair
    skip_where_rare(left)
    with ThreadPoolExecutor(2) as together:
        requested, kept = together.submit(left.job, REQUEST), together.submit(right.job, ACTOR)
        assert "NODES 3" in requested.result().log, told(left, requested.result())
        assert len(left.workers()) == 2
        line = next(line for line in kept.result().log.splitlines() if line.startswith("KEPT"))
    spread = left.job(SPREAD)
    assert "PLACED" in spread.log, told(left, spread)
    eventually(lambda: not left.workers(), IDLE, f"the group's nodes are gone\n{left.notes()}")
    eventually(lambda: right.workers() == {line.split()[1]}, IDLE, f"only the actor's node is left\n{right.notes()}")
    if not isinstance(left.site, Laptop):
        return
    sizes = json.loads(left.site.fleet.run("autoscaler", "right", "-o", "json"))
    assert (sizes["sizedBy"], [group["replicas"] for group in sizes["groups"]]) == ("the operator", [1])
    assert {each["state"] for each in sizes["instances"] if each["phase"] == "Running"} == {"ALIVE"}


def test_a_new_head_is_heard_and_its_demand_met(pair: list[Cluster]) -> None:
    left, _ = pair
    skip_where_rare(left)
    before = left.head()
    left.lose(before)
    eventually(lambda: {head["metadata"]["name"] for head in left.of("head")} - {before}, IDLE, "there is another head")
    left.await_ready(0)
    outcome = left.job(SPREAD)
    assert "PLACED" in outcome.log, told(left, outcome)


def skip_where_rare(cluster: Cluster) -> None:
    """What is decided is the same on both servers."""
    if not isinstance(cluster.site, Laptop) and "kubernetes" not in WHERE_RARE:
        pytest.skip("shown on the laptop; on both with RAYFLEET_GROUNDS=all")


def told(cluster: Cluster, outcome: Outcome) -> str:
    """All that is known of a job that went wrong: a text, as pytest shortens everything else."""
    return "\n".join([outcome.status, outcome.message, outcome.log, json.dumps(cluster.found().get("status")), *cluster.notes()])


def condition(cluster: Cluster) -> tuple[str, str]:
    found = next(each for each in cluster.found()["status"]["conditions"] if each["type"] == "Autoscaling")
    return found["status"], found["reason"]
