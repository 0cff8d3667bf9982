"""Real Ray in a local fleet, closed to strangers: a job over all Pods, a worker and a head that are killed, an end that leaves nothing."""

from __future__ import annotations

import json
import shlex
import signal

import pytest

from rayfleet.cli.ray_job import Outcome, run_job
from tests.kubelet.namespaces import unenforced
from tests.local.fleet import Fleet
from tests.local.ray import WATCHFUL, group, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

# Each task holds its only CPU until the others run too: so every Pod must have one.
WHERE = """
import ray, socket, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    time.sleep(2); return socket.gethostname()
print("HOSTS", *sorted(ray.get([where.remote() for _ in range(3)])))
"""


@pytest.fixture(scope="module")
def fleet(ray_fleet: Fleet) -> Fleet:
    file = ray_fleet.state.path.parent / "real.json"
    workers = group("small", replicas=2, template=template("1Gi", WATCHFUL))
    closed = {"networkPolicy": {"mode": "DenyAll"}}
    file.write_text(json.dumps(ray_cluster("real", workers, head={"template": template("2Gi", WATCHFUL)}, **closed)))
    ray_fleet.up("-f", str(file))
    return ray_fleet


def heads(fleet: Fleet) -> list[str]:
    return [name for name, pod in fleet.pods("real").items() if pod["metadata"]["labels"]["ray.io/node-type"] == "head"]


def workers(fleet: Fleet) -> set[str]:
    return fleet.pods("real").keys() - set(heads(fleet))


def job(fleet: Fleet, code: str) -> Outcome:
    return run_job(fleet.dashboard("real-head-svc"), shlex.join(["python", "-c", code]))


def hosts(fleet: Fleet) -> set[str]:
    outcome = job(fleet, WHERE)
    assert outcome.status == "SUCCEEDED", outcome
    line = next(line for line in outcome.log.splitlines() if line.startswith("HOSTS"))
    return set(line.split()[1:])


def kill_all_of(fleet: Fleet, name: str) -> None:
    processes = fleet.of_pod(name)
    assert processes
    for process in processes:
        process.signal(signal.SIGKILL)


def test_a_job_runs_on_all_three_pods(fleet: Fleet) -> None:
    assert hosts(fleet) == fleet.pods("real").keys()
    assert len(fleet.pods("real")) == 3


KNOCK = """
import socket
try:
    socket.create_connection(("real-head-svc", 6379), 1)
    print("let in")
except TimeoutError:
    print("kept out")
"""


@pytest.mark.skipif(bool(unenforced()), reason=unenforced())
def test_a_strangers_pod_does_not_reach_the_clusters_gcs(fleet: Fleet) -> None:
    container = {"name": "main", "image": "busybox", "command": ["python", "-c", KNOCK]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    fleet.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"}, "spec": spec})
    path = "/api/v1/namespaces/default/pods/stranger"
    eventually(lambda: fleet.read(path)["status"].get("phase") == "Succeeded", 60.0, "the stranger has tried")
    assert fleet.run("logs", "stranger").strip().endswith("kept out")
    fleet.send("DELETE", path)


def test_a_worker_that_is_killed_is_replaced_under_another_name(fleet: Fleet) -> None:
    head, before = heads(fleet), workers(fleet)
    victim = min(before)
    kill_all_of(fleet, victim)
    eventually(lambda: victim not in fleet.pods("real"), 30.0, "the dead worker is gone")
    fleet.ready("real", 2)
    assert workers(fleet) > before - {victim}
    assert heads(fleet) == head
    # Until Ray notices the death it may wait for the node that is gone.
    eventually(lambda: try_hosts(fleet) == fleet.pods("real").keys(), 120.0, "a job on all three")


def test_a_head_that_is_killed_comes_back_under_another_name_and_workers_join_it(fleet: Fleet) -> None:
    (victim,) = heads(fleet)
    kill_all_of(fleet, victim)
    eventually(lambda: heads(fleet) and victim not in heads(fleet), 30.0, "a new head")
    fleet.ready("real", 2)
    eventually(lambda: try_hosts(fleet) == fleet.pods("real").keys(), 120.0, "a job on the new head and its workers")


def try_hosts(fleet: Fleet) -> set[str]:
    """The new head's dashboard may not answer at once, and old workers may still be on their way out."""
    try:
        return hosts(fleet)
    except (OSError, AssertionError):
        return set()


def test_the_operators_story_says_what_it_did_and_why(fleet: Fleet) -> None:
    story = fleet.run("logs", "raycluster/real")
    assert "CreatedHeadPod" in story
    assert "has failed" in story


def test_the_heads_monitor_log_is_shown(fleet: Fleet) -> None:
    assert "INFO" in fleet.run("logs", "raycluster/real", "--monitor", "--tail", "5")


def test_a_pods_log_is_shown_and_tailed(fleet: Fleet) -> None:
    (head,) = heads(fleet)
    assert "ray" in fleet.run("logs", head).lower()
    assert len(fleet.run("logs", head, "--tail", "2").splitlines()) == 2


def test_a_deleted_cluster_leaves_no_pod_no_service_no_process_and_no_port(fleet: Fleet) -> None:
    pods = fleet.pods("real")
    processes = [process for name in pods for process in fleet.of_pod(name)]
    homes = [fleet.state.pods / "pods" / pod["metadata"]["uid"] for pod in fleet.children("real")]
    assert homes and all(home.exists() for home in homes)
    fleet.run("delete", "raycluster", "real")
    eventually(lambda: not fleet.children("real") and not fleet.children("real", "services"), 60.0, "no child is left")
    assert not [process for process in processes if process.alive]
    eventually(lambda: "dashboard/default/real-head-svc" not in json.loads(fleet.state.ports.read_text()))
    assert not [home for home in homes if home.exists()]
