"""Real Ray in a local fleet: a job over all Pods, a worker and a head that are killed, and an end that leaves nothing."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator

import pytest

from rayfleet.cli.ray_job import Outcome, run_job
from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet
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

# By itself Ray takes half a minute to notice that a node was killed, a minute to give up a head, and half a minute to drain without one.
IMPATIENT = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "8",
    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "3",
}


def pod(memory: str) -> dict[str, object]:
    """Ray that may not restart in place: what is killed must be replaced."""
    limits = {"cpu": "1", "memory": memory}
    env = [{"name": name, "value": value} for name, value in IMPATIENT.items()]
    container = {"name": "ray", "image": "rayproject/ray:2.60.0", "resources": {"limits": limits}, "env": env}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def cluster(name: str) -> dict[str, object]:
    parameters = {"object-store-memory": "100000000"}
    workers = {"groupName": "small", "replicas": 2, "minReplicas": 0, "maxReplicas": 3}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": parameters, "template": pod("2Gi")},
            "workerGroupSpecs": [workers | {"rayStartParams": parameters, "template": pod("1Gi")}],
        },
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(State(tmp_path_factory.mktemp("ray") / "fleet"))
    file = fleet.state.path.parent / "real.json"
    file.write_text(json.dumps(cluster("real")))
    try:
        fleet.up("-f", str(file))
        yield fleet
    finally:
        assert end(fleet.state).left == ()


def heads(fleet: Fleet) -> list[str]:
    return [name for name, pod in fleet.pods("real").items() if pod["metadata"]["labels"]["ray.io/node-type"] == "head"]


def workers(fleet: Fleet) -> set[str]:
    return fleet.pods("real").keys() - set(heads(fleet))


def job(fleet: Fleet, code: str) -> Outcome:
    port = json.loads(fleet.state.ports.read_text())["dashboard/default/real-head-svc"]
    return run_job(f"http://127.0.0.1:{port}", shlex.join(["python", "-c", code]))


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
    fleet.run("delete", "raycluster", "real")
    eventually(lambda: not fleet.children("real") and not fleet.children("real", "services"), 60.0, "no child is left")
    assert not [process for process in processes if process.alive]
    eventually(lambda: "dashboard/default/real-head-svc" not in json.loads(fleet.state.ports.read_text()))
    assert not list((fleet.state.pods / "pods").iterdir())
