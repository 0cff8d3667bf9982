"""The examples that we ship, with real Ray in a local fleet: each becomes ready, and a job in it sees what the example is about.

By default those run whose shape no other test has; RAYFLEET_SHAPES=all runs every one (some five minutes).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.local.fleet import CLUSTERS, Fleet
from tests.local.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.namespaces]

SHAPES = Path(__file__).parents[2] / "examples" / "shapes"
RESOURCES = "import ray; ray.init(log_to_driver=False); had = ray.cluster_resources(); "
PODS_OF_RAY = "import ray; ray.init(log_to_driver=False); assert len(ray.nodes()) == {}, ray.nodes()"
TRIES = (
    "import ray, time; ray.init(log_to_driver=False); begun = time.time()\n"
    "assert ray.get(ray.remote(num_cpus=1)(lambda: 'worked').remote()) == 'worked'"
)
CHECKS = {
    "autoscaler-v1": TRIES,
    "autoscaler-v2": TRIES,
    "code-from-configmap": "import greeting; assert greeting.greet() == 'hello from a ConfigMap'",
    "custom-command": "assert open('/tmp/prepared').read() == 'prepared\\n'",
    "gpus": RESOURCES + "assert had['GPU'] == 2, had",
    "head-service": PODS_OF_RAY.format(1),
    "hooks": "assert open('/tmp/started').read() == 'started\\n'",
    "init-container": "assert open('/data/ready').read() == 'prepared\\n'",
    "labels": PODS_OF_RAY.format(2),
    "log-sidecar": PODS_OF_RAY.format(1),
    "long-names": PODS_OF_RAY.format(2),
    "multi-host": PODS_OF_RAY.format(3),
    "odd-ports": PODS_OF_RAY.format(2),
    "overwritten-command": RESOURCES + "assert had['CPU'] == 1, had",
    "redis": PODS_OF_RAY.format(1),
    "rocksdb": PODS_OF_RAY.format(1),
    "secrets": "import os; assert open('/etc/store/password').read() == os.environ['STORE_PASSWORD'] == 'open-sesame'",
    "tokens": PODS_OF_RAY.format(2),
    "tpus": RESOURCES + "assert had['TPU'] == 4, had",
}

ONLY_HERE = ("custom-command", "code-from-configmap", "log-sidecar", "odd-ports", "redis")
RUN = CHECKS if os.environ.get("RAYFLEET_SHAPES") == "all" else ONLY_HERE


def cluster_of(path: Path) -> dict[str, Any]:
    return next(each for each in yaml.safe_load_all(path.read_text()) if each["kind"] == "RayCluster")


def test_every_example_has_a_check() -> None:
    assert CHECKS.keys() == {path.stem for path in SHAPES.glob("*.yaml")}


@pytest.mark.parametrize("stem", RUN)
def test_an_example_runs(ray_fleet: Fleet, stem: str) -> None:
    path = SHAPES / f"{stem}.yaml"
    name = cluster_of(path)["metadata"]["name"]
    ray_fleet.up("-f", str(path))
    try:
        ray_fleet.run("job", "submit", "--cluster", name, "--", "python", "-c", CHECKS[stem])
    finally:
        ray_fleet.run("delete", "-f", str(path))
        eventually(lambda: ray_fleet.read(f"{CLUSTERS}/{name}") is None and not ray_fleet.pods(name), 60.0, f"{name} is gone")
