"""Real Ray Serve, upgraded step by step: requests go through a gateway of our own that follows the HTTPRoute's weights, and says which.

On Kubernetes with RAYFLEET_GROUNDS=all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rayfleet.sim.service_specs import incremental
from tests.e2e.fleet import GONE, READY, WHERE_RARE, Ground
from tests.e2e.servers import CUSTOM, ROOT
from tests.e2e.shop import PODS, Load, Shop
from tests.gateway.definitions import DEFINITIONS
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", WHERE_RARE, indirect=True),
]
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
GROUP = "gateway.networking.k8s.io"
ROAD = "road"


def objects() -> list[tuple[str, dict[str, Any]]]:
    """The gateway: what it may do, its Pod, and the Service by which it is found. Where each is posted."""
    watched = {"apiGroups": [GROUP], "resources": ["gateways", "httproutes"], "verbs": ["get", "list", "watch"]}
    told = {"apiGroups": [GROUP], "resources": ["gateways/status", "httproutes/status"], "verbs": ["patch"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROAD}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    container = {
        "name": "main",
        "image": "any",
        "command": [sys.executable, "-m", "tests.gateway", "8080", "8000"],
        "env": [{"name": "PYTHONPATH", "value": "/mnt/tree"}],
        "volumeMounts": [{"name": "tree", "mountPath": "/mnt/tree", "readOnly": True}],
    }
    volume = {"name": "tree", "hostPath": {"path": str(ROOT)}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], "volumes": [volume]}
    services = "/api/v1/namespaces/default/services"
    return [
        *((CUSTOM, each) for each in DEFINITIONS),
        (f"{RBAC}/roles", {"metadata": {"name": ROAD}, "rules": [watched, told]}),
        (f"{RBAC}/rolebindings", {"metadata": {"name": ROAD}, "roleRef": role, "subjects": [account]}),
        (PODS, {"metadata": {"name": ROAD, "labels": {"app": ROAD}}, "spec": pod}),
        (services, {"metadata": {"name": ROAD}, "spec": {"selector": {"app": ROAD}, "ports": [{"port": 80, "targetPort": 8080}]}}),
    ]


@pytest.fixture(scope="module")
def road(site: Ground) -> Iterator[str]:
    """Where requests are sent."""
    made = objects()
    for path, body in made:
        code, answer = site.request("POST", path, body)
        assert code == 201, answer
    yield f"http://{ROAD}/fruit"
    for path, body in reversed(made):
        site.request("DELETE", f"{path}/{body['metadata']['name']}")
    eventually(lambda: site.request("GET", f"{PODS}/{ROAD}")[0] == 404, GONE, "the gateway is gone")


def taken(site: Ground) -> list[dict[str, int]]:
    """All weights that the gateway took, by Service, in their order."""
    code, answer = site.request("GET", f"{PODS}/{ROAD}/log")
    assert code == 200, answer
    return [json.loads(line.removeprefix("TAKEN")) for line in str(answer).splitlines() if line.startswith("TAKEN")]


def autoscaled(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "enableInTreeAutoscaling": True}


@pytest.fixture(scope="module")
def shop(site: Ground, road: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(site, tmp_path_factory.mktemp("shop"))
    try:
        shop.open(upgradeStrategy=incremental(surge=50, step=25, interval=3), rayClusterConfig=autoscaled(shop.head_alone("1")))
        eventually(lambda: shop.conditions()["GatewayReady"]["status"] == "True", READY, "the gateway takes the route")
        yield shop
    finally:
        shop.close()


@pytest.fixture(scope="module")
def load(shop: Shop, road: str) -> Iterator[Load]:
    load = Load(shop.site, road)
    try:
        yield load.start()
    finally:
        load.stop()


def test_a_cluster_is_replaced_step_by_step_under_load_and_no_request_fails(shop: Shop, load: Load) -> None:
    load.await_answers("fruit 1", 50)
    (first,) = shop.clusters()
    shop.edit(rayClusterConfig=autoscaled(shop.head_alone("2")))
    eventually(lambda: first not in shop.clusters() and shop.is_ready(), 2 * READY, "the second cluster serves alone")
    load.await_answers("fruit 2", 50)
    told = load.settled()
    print(f"{told.ended} requests: {told.counts}")
    assert told.failed() == {}, told
    (second,) = shop.clusters()
    shares = [each.get(f"{second}-serve-svc", 0) for each in taken(shop.site)]
    assert shares == [0, 0, 25, 50, 75, 100, 100], taken(shop.site)  # it is not there, has nothing, and so on; is alone
