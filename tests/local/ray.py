"""RayClusters with real Ray, as small and as quick to notice a loss as they can be; and the fleet that all of them share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.local.fleet import Fleet
from tests.local.ordinary import ordinary_user

ROOT = Path(__file__).parents[2]
STORE = {"object-store-memory": "100000000"}

# By itself Ray takes a minute to give up a head, and half a minute to drain without one.
IMPATIENT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "2", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "3"}
# And half a minute to notice that a node was killed.
WATCHFUL = {
    **IMPATIENT,
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
GRACE = 8  # seconds; the autoscaler waits for a signal that cannot be ignored


def template(memory: str, variables: dict[str, str] = IMPATIENT, **container: Any) -> dict[str, Any]:
    """Ray that may not restart in place: what is lost must be replaced. `container` are more of its fields."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    ray = {"name": "ray", "image": "rayproject/ray:2.60.0", "resources": {"limits": {"cpu": "1", "memory": memory}}, "env": env}
    return {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": GRACE, "containers": [{**ray, **container}]}}


def group(name: str, **fields: Any) -> dict[str, Any]:
    bounds = {"replicas": 1, "minReplicas": 0, "maxReplicas": 4}
    return {"groupName": name, **bounds, "rayStartParams": STORE, "template": template("1Gi"), **fields}


def ray_cluster(name: str, *groups: dict[str, Any], head: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """`head` are fields of the head's group."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": STORE, "template": template("2Gi"), **(head or {})},
            "workerGroupSpecs": list(groups),
            **spec,
        },
    }


@pytest.fixture(scope="session")
def ray_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Shared: remove the clusters that you make. With RAYFLEET_AS_USER it is an ordinary user's."""
    if os.environ.get("RAYFLEET_AS_USER"):
        with ordinary_user() as user:
            fleet = Fleet(user.state, user=user)
            fleet.up()
            yield fleet
            fleet.run("down")
        return
    place = tmp_path_factory.mktemp("ray")
    fleet = Fleet(State(place / "fleet"))
    (place / "local.yaml").write_text(json.dumps({"hostPaths": [str(ROOT), str(tmp_path_factory.getbasetemp())]}))
    try:
        fleet.up("--config", str(place / "local.yaml"))
        yield fleet
    finally:
        assert end(fleet.state).left == ()
