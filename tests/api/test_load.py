"""Manifests: kinds, other objects, and fields that nobody knows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.decode import Undecodable
from rayfleet.api.load import Other, load, unknown_fields
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService
from tests.api.manifests import cluster, encoded, head_group, recorded_objects, worker_group


@pytest.mark.parametrize("cls", [RayCluster, RayJob, RayService, RayCronJob])
@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_each_kind_in_each_version(cls: type[Any], version: str) -> None:
    document = {"apiVersion": f"ray.io/{version}", "kind": cls.__name__, "metadata": {"name": "a"}}
    found = load(encoded(document))
    assert isinstance(found, cls) and found.metadata.name == "a" and found.api_version == f"ray.io/{version}"


def test_an_object_of_another_group_passes_as_it_came() -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": []}, "data": {"x": None}}
    found = load(encoded(document))
    assert isinstance(found, Other) and (found.api_version, found.kind, found.metadata.name) == ("v1", "ConfigMap", "a")
    assert msgspec.json.decode(found.raw) == document
    assert unknown_fields(encoded(document)) == ()


def test_a_wrong_type_is_no_exception() -> None:
    assert isinstance(load(encoded(cluster(suspend=3))), Undecodable)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a manifest is a mapping"),
        ({"kind": "RayCluster"}, "apiVersion is missing"),
        ({"apiVersion": "ray.io/v1"}, "kind is missing"),
        ({"apiVersion": "ray.io/v1", "kind": "RayClusters"}, "has no kind RayClusters; it has RayCluster, RayJob"),
        ({"apiVersion": "ray.io/v2", "kind": "RayCluster"}, "has no version v2; it has v1 and v1alpha1"),
    ],
)
def test_what_is_no_object_of_ours_is_refused_in_words(document: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(encoded(document))


def test_unknown_fields_are_named_with_what_was_meant() -> None:
    document = cluster(
        workerGroupSpec=[],
        headGroupSpec=head_group(ingressOption={}, xyzzy=1),
        workerGroupSpecs=[worker_group(), worker_group(minReplica=1)],
    )
    assert list(map(str, unknown_fields(encoded(document)))) == [
        "spec.headGroupSpec.ingressOption: unknown; did you mean ingressOptions?",
        "spec.headGroupSpec.xyzzy: unknown",
        "spec.workerGroupSpecs[1].minReplica: unknown; did you mean minReplicas?",
        "spec.workerGroupSpec: unknown; did you mean workerGroupSpecs?",
    ]


def test_templates_and_metadata_are_not_looked_into() -> None:
    document = cluster(headGroupSpec=head_group({"fieldOfTomorrow": 1}, headService={"spec": {"new": 1}}))
    document["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    document["status"] = {"conditions": [{"type": "Ready", "new": 1}]}
    assert unknown_fields(encoded(document)) == ()


@pytest.mark.parametrize(("case", "document"), recorded_objects())
def test_recorded_inputs_hold_no_unknown_field(case: str, document: dict[str, Any]) -> None:
    assert unknown_fields(encoded(document)) == ()
