"""The CRDs: what an API server makes of them, by Kubernetes' own rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from rayfleet.api.crds import crds
from tests.api import structural

LIMIT = 262_144
KINDS = ("RayCluster", "RayJob", "RayService", "RayCronJob")


def crd_of(kind: str) -> dict[str, Any]:
    return next(each for each in crds() if each["spec"]["names"]["kind"] == kind)


def schema_of(kind: str, version: str = "v1") -> dict[str, Any]:
    return next(each["schema"]["openAPIV3Schema"] for each in crd_of(kind)["spec"]["versions"] if each["name"] == version)


def spec_field(kind: str, *path: str) -> dict[str, Any]:
    schema = schema_of(kind)["properties"]["spec"]
    for step in path:
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


def test_the_four_kinds_and_their_names() -> None:
    assert tuple(each["spec"]["names"]["kind"] for each in crds()) == KINDS
    for crd in crds():
        names = crd["spec"]["names"]
        assert crd["metadata"]["name"] == f"{names['plural']}.ray.io"
        assert names["categories"] == ["all"] and "shortNames" not in names
        assert crd["spec"]["scope"] == "Namespaced" and crd["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_structural(kind: str) -> None:
    for version in crd_of(kind)["spec"]["versions"]:
        assert list(structural.faults(version["schema"]["openAPIV3Schema"])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_client_side_apply_can_keep_the_crd_in_an_annotation(kind: str) -> None:
    crd = crd_of(kind)
    text = yaml.safe_dump(crd)
    assert len(json.dumps(crd)) < LIMIT and len(text) < LIMIT
    assert yaml.safe_load(text) == crd
    assert "&id" not in text, "parts are shared, and the YAML has anchors"


def test_versions() -> None:
    for kind in KINDS[:3]:
        new, old = crd_of(kind)["spec"]["versions"]
        assert (new["name"], new["served"], new["storage"], new.get("deprecated")) == ("v1", True, True, None)
        assert (old["name"], old["served"], old["storage"], old["deprecated"]) == ("v1alpha1", True, False, True)
        assert kind in old["deprecationWarning"]
        assert old["schema"] == new["schema"] and old["subresources"] == new["subresources"] == {"status": {}}
    assert [each["name"] for each in crd_of("RayCronJob")["spec"]["versions"]] == ["v1"]


def test_columns() -> None:
    found = {kind: [column["name"] for column in crd_of(kind)["spec"]["versions"][0]["additionalPrinterColumns"]] for kind in KINDS}
    cluster = "desired workers,available workers,cpus,memory,gpus,tpus,status,age,head pod IP,head service IP"
    assert found == {
        "RayCluster": cluster.split(","),
        "RayJob": ["job status", "deployment status", "ray cluster name", "start time", "end time", "age"],
        "RayService": ["service status", "num serve endpoints"],
        "RayCronJob": ["schedule", "timezone", "last schedule", "age", "suspend"],
    }
    columns = crd_of("RayCluster")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if column.get("priority")] == ["tpus", "head pod IP", "head service IP"]


def test_columns_point_at_fields() -> None:
    for kind in KINDS:
        for column in crd_of(kind)["spec"]["versions"][0]["additionalPrinterColumns"]:
            schema = schema_of(kind)
            for step in column["jsonPath"].split(".")[1:]:
                if step == "metadata":
                    break
                schema = schema["properties"][step]


def test_defaults() -> None:
    group = ("workerGroupSpecs", "[]")
    defaults = {name: field["default"] for name, field in spec_field("RayCluster", *group)["properties"].items() if "default" in field}
    assert defaults == {"replicas": 0, "minReplicas": 0, "maxReplicas": 2147483647, "numOfHosts": 1, "priority": 0}
    assert spec_field("RayCluster", "networkPolicy", "mode")["default"] == "DenyAll"
    job = {name: field["default"] for name, field in spec_field("RayJob")["properties"].items() if "default" in field}
    assert job == {"submissionMode": "K8sJobMode", "backoffLimit": 0, "ttlSecondsAfterFinished": 0}
    assert spec_field("RayService", "upgradeStrategy", "clusterUpgradeOptions", "maxSurgePercent")["default"] == 100


def test_enums_only_where_the_field_has_them() -> None:
    assert spec_field("RayCluster", "upgradeStrategy", "type")["enum"] == ["Recreate", "None"]
    assert spec_field("RayCluster", "autoscalerOptions", "version")["enum"] == ["v1", "v2"]
    for kind, path in (
        ("RayJob", ["submissionMode"]),
        ("RayService", ["upgradeStrategy", "type"]),
        ("RayCluster", ["headGroupSpec", "serviceType"]),
    ):
        assert "enum" not in spec_field(kind, *path)


def test_templates_are_kept_whole() -> None:
    whole = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert spec_field("RayCluster", "headGroupSpec", "template") == whole
    assert spec_field("RayCluster", "workerGroupSpecs", "[]", "template") == whole
    assert spec_field("RayJob", "submitterPodTemplate") == whole


def test_conditions_are_a_map_by_type() -> None:
    for kind in ("RayCluster", "RayService"):
        conditions = schema_of(kind)["properties"]["status"]["properties"]["conditions"]
        assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])
        assert conditions["items"]["required"] == ["lastTransitionTime", "message", "reason", "status", "type"]


def test_required_fields() -> None:
    assert spec_field("RayCluster")["required"] == ["headGroupSpec"]
    assert spec_field("RayCluster", "headGroupSpec")["required"] == ["template"]
    assert spec_field("RayCluster", "workerGroupSpecs", "[]")["required"] == ["groupName", "maxReplicas", "minReplicas", "template"]
    assert spec_field("RayService")["required"] == ["rayClusterConfig"]
    assert spec_field("RayCronJob")["required"] == ["jobTemplate", "schedule"]
    for kind in KINDS:
        assert "required" not in schema_of(kind)


def test_each_call_gives_fresh_objects() -> None:
    crds()[0]["spec"]["versions"].clear()
    assert crds()[0]["spec"]["versions"]
