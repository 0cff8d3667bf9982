"""`rayfleet rollout` and `rayfleet service`, against the embedded API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rayfleet.api.crds import crds
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.cli.output import dump_yaml
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.sim.service_specs import cluster_spec, document
from tests.cli.api import api_server

Type = Callable[..., Result]
WHEN = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
STATUS: dict[str, Any] = {
    "activeServiceStatus": {
        "rayClusterName": "shop-one",
        "applicationStatuses": {"fruit": {"status": "RUNNING", "serveDeploymentStatuses": {"Stand": {"status": "HEALTHY"}}}},
    },
    "pendingServiceStatus": {"rayClusterName": "shop-two", "applicationStatuses": {"fruit": {"status": "DEPLOYING"}}},
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints", "message": "", **WHEN},
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with api_server(tmp_path_factory.mktemp("api")) as path:
        yield path


@pytest.fixture
def typed(invoke: Type, server: Path) -> Iterator[Type]:
    def run(*words: str, text: str = "", code: int = 0) -> Result:
        result = invoke(*words, "--kubeconfig", str(server), input=text)
        assert result.exit_code == code, (words, result.output, result.exception)
        return result

    service = document(rayClusterConfig=cluster_spec(env="2"))
    service["metadata"] = {"name": "shop"}
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "shop-one"}, "spec": cluster_spec()}
    run("apply", "-f", "-", text="---\n".join(map(dump_yaml, crds())))
    run("apply", "-f", "-", text="---\n".join(map(dump_yaml, (service, cluster))))
    yield run
    for kind in ("rayservices", "rayclusters"):
        run("delete", kind, "--all")


def shop(server: Path, **status: Any) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with Client(load_kubeconfig(server)) as client:
            if status:
                await client.patch(RAYSERVICES, "shop", "default", {"status": status}, subresource="status")
            found: dict[str, Any] = await client.get(RAYSERVICES, "shop", "default")
            return found

    return asyncio.run(ask())


def test_the_status_of_a_change_is_its_progress(typed: Type, server: Path) -> None:
    shop(server, **STATUS)
    assert typed("rollout", "status", "rayservice/shop").output.splitlines() == [
        "rayservice/shop",
        "  Ready: True (NonZeroServeEndpoints)",
        "  raycluster/shop-one takes the traffic: 100 %",
        "  raycluster/shop-two is to take it: 0 %",
        "    waits for application fruit: DEPLOYING",
    ]


def test_what_holds_a_change_is_told(typed: Type, server: Path) -> None:
    gateway = {"type": "GatewayReady", "status": "False", "reason": "WaitingForRoute", "message": "see to it", **WHEN}
    upgrade = {"type": "UpgradeInProgress", "status": "True", "reason": "BothActivePendingClustersExist", "message": "so it goes", **WHEN}
    shop(server, **{**STATUS, "conditions": [*STATUS["conditions"], upgrade, gateway]})
    assert typed("rollout", "status", "shop").output.splitlines()[1:4] == [
        "  Ready: True (NonZeroServeEndpoints)",
        "  UpgradeInProgress: True (BothActivePendingClustersExist): so it goes",
        "  GatewayReady: False (WaitingForRoute): see to it",
    ]


SAID = {
    "applications": {
        "fruit": {
            "status": "RUNNING",
            "route_prefix": "/fruit",
            "deployments": {
                "Stand": {"status": "HEALTHY", "replicas": [{"state": "RUNNING"}, {"state": "RUNNING"}, {"state": "STARTING"}]},
                "Till": {"status": "UPDATING", "message": "Traceback\nKeyError: 'x'\n", "replicas": []},
            },
        }
    }
}


def test_a_service_is_shown_as_a_tree_in_the_words_of_its_ray(typed: Type, server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(server, **STATUS, numServeEndpoints=2)

    async def ask(client: Client, state: object, cluster: dict[str, Any], path: str) -> bytes:
        assert (cluster["metadata"]["name"], path) == ("shop-one", "/api/serve/applications/?api_type=declarative")
        return json.dumps(SAID).encode()

    monkeypatch.setattr("rayfleet.cli.dashboard.ask", ask)
    assert typed("service", "status", "shop").output.splitlines() == [
        "rayservice/shop",
        "  Ready: True (NonZeroServeEndpoints)",
        "  2 Pods take requests",
        "  raycluster/shop-one takes the traffic: 100 %",
        "    application fruit: RUNNING at /fruit",
        "      deployment Stand: HEALTHY, 3 replicas (2 RUNNING, 1 STARTING)",
        "      deployment Till: UPDATING, 0 replicas: KeyError: 'x'",
        "  raycluster/shop-two is to take it: 0 %",
        "    it is gone; as it was last reported:",
        "    application fruit: DEPLOYING",
    ]
    found = json.loads(typed("service", "status", "shop", "-o", "json").output)
    assert found["clusters"][0]["applications"][0]["deployments"][0]["replicas"] == {"RUNNING": 2, "STARTING": 1}


def test_it_is_paused_and_resumed(typed: Type, server: Path) -> None:
    assert typed("rollout", "pause", "shop").output == "rayservice.ray.io/shop paused\n"
    assert shop(server)["metadata"]["annotations"]["rayfleet.dev/paused"] == "true"
    assert "  paused: " in typed("rollout", "status", "shop").output
    typed("rollout", "resume", "shop")
    assert "rayfleet.dev/paused" not in shop(server)["metadata"].get("annotations", {})


def test_undone_the_service_has_the_spec_of_the_cluster_that_serves(typed: Type, server: Path) -> None:
    assert "nothing to go back to" in typed("rollout", "undo", "shop", code=1).output
    shop(server, **STATUS)
    typed("rollout", "undo", "shop")

    async def cluster() -> Any:
        async with Client(load_kubeconfig(server)) as client:
            return await client.get(RAYCLUSTERS, "shop-one", "default")

    assert shop(server)["spec"]["rayClusterConfig"] == asyncio.run(cluster())["spec"]


def test_only_services_are_rolled_out(typed: Type) -> None:
    assert "write rayservice/NAME instead of raycluster/one" in typed("rollout", "status", "raycluster/one", code=2).output
