"""A head that dies takes nothing along where its state is kept elsewhere: in Redis, or on a volume. Told in order, as `test_clusters`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from rayfleet.api.names import claim_name
from rayfleet.cli.ray_job import ask
from tests.e2e.fleet import GONE, READY, Cluster
from tests.e2e.redis import SERVER, Redis
from tests.e2e.servers import Site
from tests.local.ray import IMPATIENT, STORE, group, ray_cluster, template
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]

# On a worker, which alone has a CPU for it.
COUNT = """
import ray
ray.init(namespace="kept", log_to_driver=False)
@ray.remote(num_cpus=1)
class Counter:
    number = 0
    def count(self):
        self.number += 1
        return self.number
counter = Counter.options(name="counter", lifetime="detached", get_if_exists=True).remote()
print("COUNTED", ray.get(counter.count.remote()))
"""
PATIENT = {name: value for name, value in IMPATIENT.items() if "reconnect" not in name}
WAIT = "import time; time.sleep(1000)"


def stored(name: str, **options: Any) -> dict[str, Any]:
    """A head without CPUs and one worker, which waits as long for its head as the operator tells it to."""
    head = {"rayStartParams": {**STORE, "num-cpus": "0"}, "template": template("2Gi", PATIENT)}
    return ray_cluster(name, group("small", template=template("1Gi", PATIENT)), head=head, gcsFaultToleranceOptions=options)


@pytest.fixture(scope="module")
def redis(site: Site) -> Iterator[Redis]:
    if SERVER is None:
        pytest.skip("there is no redis-server here; install it (Debian: redis-server)")
    redis = Redis(site).start()
    yield redis
    redis.stop()


def counted(cluster: Cluster) -> int:
    """What the counter says now; 0 when the job failed."""
    try:
        outcome = cluster.job(COUNT)
    except (OSError, ValueError):
        return 0
    lines = [line for line in outcome.log.splitlines() if line.startswith("COUNTED")]
    return int(lines[0].split()[1]) if lines else 0


def dashboard(cluster: Cluster) -> str:
    (head,) = cluster.of("head")
    return f"http://{head['status']['podIP']}:8265"


def jobs_of(cluster: Cluster) -> set[str]:
    """Those that were submitted; none while nobody answers."""
    try:
        return {each["submission_id"] for each in ask(f"{dashboard(cluster)}/api/jobs/") if each["type"] == "SUBMISSION"}
    except (OSError, ValueError):
        return set()


def status_of(cluster: Cluster, job: str) -> str:
    try:
        return str(ask(f"{dashboard(cluster)}/api/jobs/{job}")["status"])
    except (OSError, ValueError):
        return ""


def lose_the_head(cluster: Cluster) -> None:
    """In the middle of a job. Afterwards the worker is the same, and so are the counter and what is known of jobs."""
    assert counted(cluster) == 1
    (done,) = jobs_of(cluster)
    running = ask(f"{dashboard(cluster)}/api/jobs/", {"entrypoint": shlex.join(["python", "-c", WAIT])})["submission_id"]
    eventually(lambda: status_of(cluster, running) == "RUNNING", READY, "the long job runs")
    before = cluster.uids()
    workers = cluster.workers()
    cluster.lose(cluster.head())
    eventually(lambda: [one for one in cluster.of("head") if one["metadata"]["uid"] not in before.values()], GONE, "another head")
    cluster.await_ready(1)
    assert cluster.workers() == workers
    (worker,) = cluster.of("worker")
    assert worker["metadata"]["uid"] in before.values()
    assert worker["status"]["containerStatuses"][0]["restartCount"] == 0
    assert eventually(lambda: counted(cluster), READY, "a job on the new head") == 2
    assert status_of(cluster, done) == "SUCCEEDED"
    eventually(lambda: status_of(cluster, running) == "FAILED", READY, "the job whose driver died with the head has failed")


def make(site: Site, body: dict[str, Any]) -> Cluster:
    cluster = Cluster(site, body["metadata"]["name"])
    code, answer = site.server.request("POST", cluster.path, body)
    assert code == 201, answer
    cluster.await_ready(1)
    return cluster


def gone(cluster: Cluster) -> bool:
    return cluster.site.server.request("GET", f"{cluster.path}/{cluster.name}")[0] == 404 and not cluster.children("pods")


def test_with_redis_a_lost_head_costs_nothing_and_a_deletion_leaves_no_key(site: Site, redis: Redis) -> None:
    secret = {"valueFrom": {"secretKeyRef": {"name": redis.name, "key": "password"}}}
    cluster = make(site, stored("remembered", redisAddress="redis:6379", redisPassword=secret))
    other = redis.keys("someone")
    uid = site.server.request("GET", f"{cluster.path}/{cluster.name}")[1]["metadata"]["uid"]
    lose_the_head(cluster)
    assert redis.keys(uid), "its keys lie below its UID"
    cluster.delete()
    eventually(lambda: gone(cluster), READY, f"it is gone\n{site.told()}")
    assert redis.keys(uid) == []
    assert redis.keys("someone") == other


def test_with_a_volume_a_lost_head_costs_nothing_and_the_volume_can_be_kept(site: Site) -> None:
    cluster = make(site, stored("shelved", backend="rocksdb"))
    lose_the_head(cluster)
    retained = {"spec": {"gcsFaultToleranceOptions": {"storage": {"deletionPolicy": "Retain"}}}}
    merge = "application/merge-patch+json"
    assert site.server.request("PATCH", f"{cluster.path}/{cluster.name}", retained, kind=merge)[0] == 200
    claim = f"/api/v1/namespaces/default/persistentvolumeclaims/{claim_name(cluster.name)}"
    eventually(lambda: not site.server.request("GET", claim)[1]["metadata"].get("ownerReferences"), GONE, "the claim is let go")
    known = jobs_of(cluster)
    cluster.delete()
    eventually(lambda: gone(cluster), GONE, "it is gone")
    again = make(site, stored("shelved", backend="rocksdb"))
    assert known
    eventually(lambda: known <= jobs_of(again), READY, "the jobs of before are known")
    again.delete()
    eventually(lambda: site.server.request("GET", claim)[0] == 404, GONE, "the claim goes with a cluster that owns it")
