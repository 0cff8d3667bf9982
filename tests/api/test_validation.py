"""Every fault of a RayCluster as its writer reads it."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_cluster
from rayfleet.api.validation import validate_cluster
from tests.api.cases import BAD, COLLECTOR_ENV, GOOD, GROUP, HEAD, ft, group
from tests.api.manifests import cluster, encoded, recorded_objects, worker_group

GATES = dict.fromkeys(
    ("RayClusterNetworkPolicy", "GCSFaultToleranceEmbeddedStorage", "RayClusterMTLS", "RayClusterHistoryServer", "RayJobDeletionPolicy"),
    True,
)
ALL_GATES = Configuration(feature_gates=GATES)
NO_GATES = Configuration(feature_gates=dict.fromkeys(GATES, False))


def faults(document: dict[str, Any], config: Configuration = ALL_GATES) -> list[str]:
    return [str(fault) for fault in validate_cluster(decode_cluster(encoded(document)), config)]


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_good_clusters_have_no_fault(document: dict[str, Any]) -> None:
    assert faults(document) == []


@pytest.mark.parametrize(("document", "starts", "holds"), BAD, ids=[f"{bad[1][0]}-{bad[2]}" for bad in BAD])
def test_a_fault_names_its_place_and_what_is_allowed(document: dict[str, Any], starts: list[str], holds: str) -> None:
    found = faults(document)
    for start in starts:
        assert any(fault.startswith(start) for fault in found), found
    assert holds in "; ".join(found)
    assert all(fault.count("\n") == 0 for fault in found)


@pytest.mark.parametrize(
    ("document", "gate"),
    [
        (cluster(networkPolicy={}), "RayClusterNetworkPolicy"),
        (cluster(tlsOptions={}), "RayClusterMTLS"),
        (cluster(historyServerOptions={"collectorOptions": {"image": "c", "env": COLLECTOR_ENV}}), "RayClusterHistoryServer"),
        (cluster(**ft(backend="rocksdb")), "GCSFaultToleranceEmbeddedStorage"),
        (group(suspend=True), "RayJobDeletionPolicy"),
    ],
)
def test_gates(document: dict[str, Any], gate: str) -> None:
    assert faults(document) == []
    found = faults(document, NO_GATES)
    assert len(found) == 1 and found[0].endswith(f"needs the feature gate {gate}, which is off")


def test_all_faults_come_at_once_and_each_but_once() -> None:
    document = cluster(headGroupSpec={}, workerGroupSpecs=[worker_group(minReplicas=-1), worker_group(groupName="", numOfHosts=0)])
    document["metadata"]["name"] = "X"
    found = faults(document)
    places = ["metadata.name", HEAD, GROUP, "spec.workerGroupSpecs[1].groupName", "spec.workerGroupSpecs[1].numOfHosts"]
    assert all(any(fault.startswith(place) for fault in found) for place in places)
    assert len(found) == len(set(found)) == 5


def test_a_wrong_type_is_a_fault_like_others() -> None:
    assert faults(group(replicas="3")) == [f"{GROUP}.replicas: expected int, got str"]


@pytest.mark.parametrize("maker", ["RayJob", "RayService"])
def test_a_made_cluster_has_no_strategy_of_its_own(maker: str) -> None:
    document = cluster(upgradeStrategy={"type": "Recreate"})
    document["metadata"]["labels"] = {"ray.io/originated-from-crd": maker}
    assert faults(document)[0].startswith("spec.upgradeStrategy.type")


@pytest.mark.parametrize(("case", "document"), recorded_objects("RayCluster"))
def test_recorded_inputs(case: str, document: dict[str, Any]) -> None:
    """What the recordings call invalid is refused, and nothing else; gated cases were recorded with and without their gates."""
    config = Configuration() if case.startswith("raycluster-invalid-") else ALL_GATES
    refused = case.startswith("raycluster-invalid-") or case == "raycluster-group-name-underscore"
    assert bool(faults(document, config)) == refused
