"""Ray's own autoscaler beside the head: from no workers to two and back, by the demand of a real job. v1 on one server, v2 on the other."""

from __future__ import annotations

from collections.abc import Iterator

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
import ray, socket, time
ray.init(log_to_driver=False)
@ray.remote(num_cpus=1)
def where():
    while sum(node["Alive"] for node in ray.nodes()) < 3:
        time.sleep(0.5)
    time.sleep(6); return socket.gethostname()
print("HOSTS", *sorted(set(ray.get([where.remote() for _ in range(2)]))))
"""


@pytest.fixture(scope="module")
def elastic(site: Ground) -> Iterator[Cluster]:
    head = {"rayStartParams": {**STORE, "num-cpus": "0"}}
    options = {"version": "v1" if isinstance(site, Laptop) else "v2", "idleTimeoutSeconds": 10}
    groups = group("small", replicas=0, maxReplicas=2)
    manifest = ray_cluster("elastic", groups, head=head, enableInTreeAutoscaling=True, autoscalerOptions=options)
    manifest["metadata"]["annotations"] = {"rayfleet.dev/autoscaling": "sidecar"}
    cluster = Cluster(site, "elastic").create(manifest)
    yield cluster
    cluster.delete()
    cluster.await_nothing()


def test_demand_brings_workers_and_idleness_takes_them_by_name(elastic: Cluster) -> None:
    elastic.await_ready(0)
    head = elastic.uids()
    outcome = elastic.job(DEMAND)
    assert outcome.status == "SUCCEEDED", outcome
    line = next(line for line in outcome.log.splitlines() if line.startswith("HOSTS"))
    assert len(line.split()[1:]) == 2
    eventually(lambda: elastic.uids() == head, IDLE, "the idle workers are gone, and the head is the same")
    eventually(lambda: any("workersToDelete lists it" in note for note in elastic.notes()), what="an event says so")
