"""Every fault of a RayService as its writer reads it."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode
from rayfleet.api.duration import parse_duration
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation import validate_service
from tests.api.manifests import cluster, encoded

OPTIONS = {"stepSizePercent": 10, "intervalSeconds": 5, "gatewayClassName": "istio"}
INCREMENTAL = "NewClusterWithIncrementalUpgrade"


def service(
    name: str = "shop", annotations: dict[str, str] | None = None, config: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"rayClusterConfig": {**cluster()["spec"], **(config or {})}, **spec},
    }


def incremental(autoscaled: bool = True, **options: Any) -> dict[str, Any]:
    strategy = {"type": INCREMENTAL, "clusterUpgradeOptions": {**OPTIONS, **options}}
    return service(config={"enableInTreeAutoscaling": autoscaled}, upgradeStrategy=strategy)


def faults(document: dict[str, Any], config: Configuration | None = None) -> list[str]:
    return [str(fault) for fault in validate_service(decode(encoded(document), RayService), config or Configuration())]


GOOD_SERVICES = [
    service(),
    service("s" * 47),
    service(annotations={"ray.io/initializing-timeout": "1h30m"}),
    service(annotations={"ray.io/initializing-timeout": "90"}),
    service(upgradeStrategy={"type": "None"}, rayClusterDeletionDelaySeconds=0),
    service(serveService={"metadata": {"name": "front"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}),
    incremental(),
    incremental(maxSurgePercent=10),
]


@pytest.mark.parametrize("document", GOOD_SERVICES)
def test_good_services_have_no_fault(document: dict[str, Any]) -> None:
    assert faults(document) == []


BAD = [
    (service("s" * 48), ["metadata.name"]),
    (service("1shop"), ["metadata.name"]),
    (service(annotations={"ray.io/initializing-timeout": "soon"}), ["metadata.annotations[ray.io/initializing-timeout]"]),
    (service(annotations={"ray.io/initializing-timeout": "0s"}), ["metadata.annotations[ray.io/initializing-timeout]"]),
    (service(rayClusterDeletionDelaySeconds=-1), ["spec.rayClusterDeletionDelaySeconds"]),
    (service(upgradeStrategy={"type": "Sideways"}), ["spec.upgradeStrategy.type"]),
    (service(config={"upgradeStrategy": {"type": "Recreate"}}), ["spec.rayClusterConfig.upgradeStrategy.type"]),
    (
        service(config={"rayVersion": "2.55.0", "authOptions": {"mode": "token", "enableK8sTokenAuth": True}}),
        ["spec.rayClusterConfig.authOptions.enableK8sTokenAuth"],
    ),
    (
        service(config={"headGroupSpec": {**cluster()["spec"]["headGroupSpec"], "headService": {"metadata": {"name": "mine"}}}}),
        ["spec.rayClusterConfig.headGroupSpec.headService.metadata.name"],
    ),
    (service(serveService={"spec": {"ports": "many"}}), ["spec.serveService.spec.ports"]),
    (service(serveService={"spec": {"externalIPs": ["192.0.2.1"]}}), ["spec.serveService.spec.externalIPs"]),
    (service(serveService={"spec": {"type": "ExternalName", "externalName": "x.test"}}), ["spec.serveService.spec.externalName"]),
    (incremental(autoscaled=False), ["spec.rayClusterConfig.enableInTreeAutoscaling"]),
    (incremental(stepSizePercent=0), ["spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent"]),
    (incremental(stepSizePercent=30, maxSurgePercent=20), ["spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent"]),
    (incremental(maxSurgePercent=0, stepSizePercent=1), ["spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent"]),
    (incremental(intervalSeconds=0), ["spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds"]),
    (incremental(gatewayClassName=""), ["spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName"]),
    (
        service(upgradeStrategy={"type": INCREMENTAL}),
        ["spec.rayClusterConfig.enableInTreeAutoscaling", "spec.upgradeStrategy.clusterUpgradeOptions"],
    ),
]
BAD_SERVICES = [document for document, _ in BAD]


@pytest.mark.parametrize(("document", "places"), BAD)
def test_all_faults_come_at_once_each_with_its_place(document: dict[str, Any], places: list[str]) -> None:
    found = faults(document)
    for place in places:
        assert any(fault.startswith(f"{place}: ") for fault in found), found
    assert len(found) <= len(places) + 1


def test_a_fault_of_the_cluster_s_spec_says_where_it_stands_in_the_service() -> None:
    (found,) = faults(
        service(config={"workerGroupSpecs": [{**cluster()["spec"]["workerGroupSpecs"][0], "minReplicas": 5, "maxReplicas": 2}]})
    )
    assert found.startswith("spec.rayClusterConfig.workerGroupSpecs[0].minReplicas: ")


def test_a_gate_that_is_off_is_named() -> None:
    found = faults(incremental(), Configuration(feature_gates={"RayServiceIncrementalUpgrade": False}))
    assert len(found) == 1 and "RayServiceIncrementalUpgrade" in found[0]


@pytest.mark.parametrize(("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("250ms", 0.25)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-5s", "soon", "5 s", "1d", "s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)
