"""Real Ray in two Pods written by hand: a head, and a worker that finds it by its Service's name."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from rayfleet.api.meta import PODS, SERVICES
from tests.kubelet.namespaces import NOTHING, remains
from tests.kubelet.world import World, pod, until

pytestmark = pytest.mark.ray

HEAD = "head.default.svc.cluster.local"
COMMON = "--block --metrics-export-port=8080 --dashboard-agent-listen-port=52365 --num-cpus=1 --memory=1000000000"
WAIT = f"until ray health-check --address {HEAD}:6379 > /dev/null 2>&1; do sleep 0.2; done"
JOB = """
import ray, socket
ray.init()
@ray.remote(num_cpus=1)
def where():
    import time
    time.sleep(1)
    return socket.gethostname()
print("ran on", sorted(set(ray.get([where.remote() for _ in range(4)]))))
"""
SHM = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}
PATIENCE = 120.0


def ray_pod(name: str, arguments: str, **spec: Any) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/api/local_raylet_healthz", "port": 52365}, "periodSeconds": 1, "timeoutSeconds": 5}
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    command = ["/bin/bash", "-c", "--", f"ulimit -n 65536; ray start {arguments} {COMMON}"]
    spec = {"volumes": [SHM], "terminationGracePeriodSeconds": 10, **spec}
    return pod(command, name, readinessProbe=probe, volumeMounts=mounts, image="rayproject/ray:2.60.0", **spec)


async def run_job(address: str, entrypoint: str) -> str:
    """The job's log, when it has succeeded."""
    async with aiohttp.ClientSession(f"http://{address}:8265") as session:
        async with session.post("/api/jobs/", json={"entrypoint": entrypoint}) as answer:
            job = (await answer.json())["submission_id"]

        async def ended() -> str | None:
            async with session.get(f"/api/jobs/{job}") as answer:
                status = (await answer.json())["status"]
            return status if status in ("SUCCEEDED", "FAILED", "STOPPED") else None

        outcome = await until("the job has ended", ended, PATIENCE)
        async with session.get(f"/api/jobs/{job}/logs") as answer:
            logs = (await answer.json())["logs"]
    assert outcome == "SUCCEEDED", logs
    return str(logs)


async def test_a_job_runs_over_head_and_worker(world: World) -> None:
    service = {"selector": {"app": "head"}, "clusterIP": "None", "ports": [{"name": "gcs", "port": 6379}], "publishNotReadyAddresses": True}
    await world.apply({"metadata": {"name": "head", "namespace": "default"}, "spec": service}, SERVICES)
    wait = {"name": "wait", "image": "i", "command": ["bash", "-c", WAIT]}
    head_pod = ray_pod("head", "--head --dashboard-host=0.0.0.0")
    # Ray's control store answers the standard health service: Kubernetes' own kind of probe for it.
    head_pod["spec"]["containers"][0]["startupProbe"] = {
        "grpc": {"port": 6379},
        "periodSeconds": 1,
        "timeoutSeconds": 5,
        "failureThreshold": 120,
    }
    await world.apply(head_pod)
    await world.apply(ray_pod("worker", f"--address={HEAD}:6379", initContainers=[wait]))
    head = await world.becomes_ready("head", PATIENCE)
    await world.becomes_ready("worker", PATIENCE)
    said = await run_job(head["podIP"], f"python -c '{JOB}'")
    assert "ran on ['head', 'worker']" in said
    for name in ("worker", "head"):
        await world.client.delete(PODS, name, "default")
        await until(f"{name} is gone", lambda name=name: world.gone(name), PATIENCE)
    assert remains(world.settings.state) == NOTHING
