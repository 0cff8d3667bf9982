"""Hosted autoscaling with real Ray over minutes: a name that is used again and again, and heads of the oldest and the newest Ray at once.

Only with RAYFLEET_AUTOSCALING=all: some six minutes, and Ray 2.9.3 is installed on first use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.e2e.fleet import Cluster
from tests.e2e.laptop import Laptop
from tests.kubelet.namespaces import refusal
from tests.local.fleet import Fleet
from tests.local.ray import STORE, group, ray_cluster
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.skipif(os.environ.get("RAYFLEET_AUTOSCALING") != "all", reason="RAYFLEET_AUTOSCALING=all runs it"),
    pytest.mark.skipif(bool(refusal()), reason="namespaces are refused here"),
]

OLD, NEW = "2.9.3", "2.60.0"
TIMES = 20
INSTALLED = 900.0  # seconds
IDLE = 120.0
WORK = """
import ray, socket, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1)
def where():
    while sum(node["Alive"] for node in ray.nodes()) < 3:
        time.sleep(0.5)
    return socket.gethostname()
print("HOSTS", ray.__version__, *sorted(ray.get([where.remote() for _ in range(2)])))
"""


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    """Whose images of Ray 2.9 are an environment of their own."""
    directory = tmp_path_factory.mktemp("long")
    configuration = directory / "local.yaml"
    configuration.write_text('images: {"rayproject/ray:2.9*": auto}\n')
    fleet = Fleet(State(directory / "fleet"))
    try:
        fleet.up("--config", str(configuration))
        yield Laptop(fleet)
    finally:
        assert end(fleet.state).left == ()


def hosted(name: str, version: str = NEW) -> dict[str, Any]:
    head = {"rayStartParams": {**STORE, "num-cpus": "0"}}
    groups = group("small", replicas=0, maxReplicas=2)
    options = {"idleTimeoutSeconds": 6}
    manifest = ray_cluster(name, groups, head=head, enableInTreeAutoscaling=True, autoscalerOptions=options)
    manifest["metadata"]["annotations"] = {"rayfleet.dev/autoscaling": "hosted"}
    text = json.dumps(manifest).replace(f"rayproject/ray:{NEW}", f"rayproject/ray:{version}")
    return {**json.loads(text), "spec": {**json.loads(text)["spec"], "rayVersion": version}}


def test_heads_of_the_oldest_and_the_newest_ray_are_sized_side_by_side(laptop: Laptop) -> None:
    clusters = {version: Cluster(laptop, name).create(hosted(name, version)) for version, name in ((OLD, "oldest"), (NEW, "newest"))}
    eventually(lambda: clusters[OLD].is_ready(0), INSTALLED, "the environment of the old Ray is there")
    clusters[NEW].await_ready(0)
    with ThreadPoolExecutor(2) as together:
        outcomes = dict(zip(clusters, together.map(lambda cluster: cluster.job(WORK), clusters.values()), strict=True))
    for version, cluster in clusters.items():
        line = next((line for line in outcomes[version].log.splitlines() if line.startswith("HOSTS")), "")
        assert line.split()[1:2] == [version], (outcomes[version], cluster.notes())
        assert len(set(line.split()[2:])) == 2, line
    for cluster in clusters.values():
        eventually(lambda cluster=cluster: not cluster.workers(), IDLE, f"{cluster.name}'s workers are gone\n{cluster.notes()}")
        cluster.delete()
    for cluster in clusters.values():
        cluster.await_nothing()


def test_a_name_is_deleted_and_applied_again_twenty_times(laptop: Laptop) -> None:
    """Ray's own client ends its process a minute after a head has gone. Each head is met, and nothing of an old one is kept."""
    cluster, held = Cluster(laptop, "again"), []
    before = laptop.fleet.processes()["operator"]["pid"]
    for _ in range(TIMES):
        cluster.create(hosted("again"))
        eventually(lambda: condition(cluster) == ("True", "Working"), 120.0, f"the head is asked\n{laptop.told()}")
        held.append(cost_of(before))
        cluster.delete()
        eventually(lambda: not cluster.found(), 60.0, "the name is free")
    cluster.await_nothing()
    assert laptop.fleet.processes()["operator"]["pid"] == before
    sockets, threads, memory = zip(*held, strict=True)
    print(f"sockets {sockets}, threads {threads}, MiB {memory}")
    assert max(sockets[-5:]) <= max(sockets[:5]), sockets
    assert max(threads[-5:]) <= max(threads[:5]), threads
    assert max(memory[-5:]) - max(memory[:5]) < TIMES * 0.5, memory


def cost_of(pid: int) -> tuple[int, int, int]:
    """Its sockets, its threads, its resident MiB."""
    sockets = sum(target(each).startswith("socket:") for each in Path(f"/proc/{pid}/fd").iterdir())
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sockets, int(status["Threads"]), int(status["VmRSS"].split()[0]) // 1024


def target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def condition(cluster: Cluster) -> tuple[str, str]:
    """Of a head that has joined; ("", "") while nothing is said."""
    conditions = cluster.found().get("status", {}).get("conditions", ())
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == "Autoscaling"), ("", ""))
