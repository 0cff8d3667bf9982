"""Decoding: all that is given arrives, templates survive, and a wrong type names its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.decode import Undecodable, decode, decode_cluster
from rayfleet.api.raycluster import MAX_INT32, RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.template import read_template
from tests.api.manifests import TEMPLATE, cluster, encoded, head_group, recorded_objects, worker_group


def decoded(document: Any) -> RayCluster:
    result = decode_cluster(encoded(document))
    assert isinstance(result, RayCluster), result
    return result


def faults(document: Any) -> list[str]:
    result = decode_cluster(encoded(document))
    assert isinstance(result, Undecodable)
    return list(map(str, result.faults))


def test_fields_by_their_python_names() -> None:
    whole = decoded(cluster(workerGroupSpecs=[worker_group(scaleStrategy={"workersToDelete": ["demo-small-worker-bcdfg"]})]))
    assert whole.metadata.key == ("lab", "demo")
    assert whole.spec.head_group_spec.ray_start_params == {"dashboard-host": "0.0.0.0"}
    assert whole.spec.worker_group_specs[0].scale_strategy.workers_to_delete == ("demo-small-worker-bcdfg",)


def test_acronyms_in_a_status() -> None:
    status = {"desiredCPU": "3", "desiredGPU": 0, "head": {"podIP": "10.88.0.2", "serviceIP": "10.96.0.9"}, "desiredWorkerReplicas": 2}
    found = decoded({**cluster(), "status": status}).status
    assert (found.desired_cpu, found.desired_gpu, found.head.pod_ip, found.head.service_ip) == ("3", 0, "10.88.0.2", "10.96.0.9")


def test_what_is_left_out_has_the_defaults_of_the_crd() -> None:
    group = decoded(cluster(workerGroupSpecs=[{"groupName": "bare", "template": TEMPLATE}])).spec.worker_group_specs[0]
    assert (group.replicas, group.min_replicas, group.max_replicas, group.num_of_hosts, group.priority) == (0, 0, MAX_INT32, 1, 0)


def test_nulls_count_as_absent() -> None:
    group = worker_group(replicas=None, maxReplicas=None, rayStartParams=None, scaleStrategy=None, suspend=None)
    head = head_group(rayStartParams=None, headService=None, serviceType=None)
    spec = decoded(cluster(headGroupSpec=head, workerGroupSpecs=[group], autoscalerOptions={"env": None, "resources": None})).spec
    assert (spec.worker_group_specs[0].replicas, spec.worker_group_specs[0].max_replicas) == (0, MAX_INT32)
    assert spec.worker_group_specs[0].ray_start_params == spec.head_group_spec.ray_start_params == {}
    assert bytes(spec.head_group_spec.head_service) == b""
    assert spec.autoscaler_options and spec.autoscaler_options.env == ()


def test_a_template_survives_with_fields_of_tomorrow() -> None:
    template = {"metadata": {"creationTimestamp": None}, "spec": {**TEMPLATE["spec"], "fieldOfTomorrow": [{"ratio": 0.1, "big": 2**62}]}}
    whole = decoded(cluster(headGroupSpec={"template": template}))
    assert msgspec.json.decode(whole.spec.head_group_spec.template) == template
    again = msgspec.json.decode(msgspec.json.encode(whole))
    assert again["spec"]["headGroupSpec"]["template"] == template


def test_an_object_of_its_own_bytes_keeps_the_text_of_a_template() -> None:
    text = b'{"spec":{"headGroupSpec":{"template":{"spec": {"x" :1.50}}}}}'
    whole = decode_cluster(text)
    assert isinstance(whole, RayCluster) and bytes(whole.spec.head_group_spec.template) == b'{"spec": {"x" :1.50}}'


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (cluster(workerGroupSpecs=[worker_group(replicas="3")]), ["spec.workerGroupSpecs[0].replicas: expected int, got str"]),
        (cluster(workerGroupSpecs={}), ["spec.workerGroupSpecs: expected array, got object"]),
        (cluster(workerGroupSpecs=[None]), ["spec.workerGroupSpecs[0]: expected object, got null"]),
        (cluster(suspend="yes", rayVersion=2.6), ["spec.rayVersion: expected str, got float", "spec.suspend: expected bool, got str"]),
        (cluster(workerGroupSpecs=[worker_group(replicas=True)]), ["spec.workerGroupSpecs[0].replicas: expected int, got bool"]),
        (cluster(workerGroupSpecs=[worker_group(replicas=1.5)]), ["spec.workerGroupSpecs[0].replicas: expected int, got float"]),
        (
            cluster(headGroupSpec=head_group(rayStartParams={"num-cpus": 0})),
            ["spec.headGroupSpec.rayStartParams.num-cpus: expected str, got int"],
        ),
        (cluster(headServiceAnnotations={"a.b/c": []}), ["spec.headServiceAnnotations[a.b/c]: expected str, got array"]),
        ({**cluster(), "spec": []}, ["spec: expected object, got array"]),
        ([], ["expected object, got array"]),
    ],
)
def test_every_wrong_type_is_named_with_its_path(document: Any, expected: list[str]) -> None:
    assert faults(document) == expected


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert decoded(cluster(workerGroupSpecs=[worker_group(replicas=2.0)])).spec.worker_group_specs[0].replicas == 2


def test_an_undecodable_cluster_is_still_somebody() -> None:
    document = cluster(suspend="yes")
    document["metadata"] |= {"uid": "u-1", "generation": 4, "labels": {"good": "yes", "bad": 1}}
    document["status"] = {"state": "ready", "observedGeneration": 3, "desiredWorkerReplicas": "many"}
    found = decode_cluster(encoded(document))
    assert isinstance(found, Undecodable)
    assert (found.metadata.key, found.metadata.uid, found.metadata.generation) == (("lab", "demo"), "u-1", 4)
    assert (found.kind, found.status.state, found.status.observed_generation) == ("RayCluster", "ready", 3)
    assert "spec.suspend: expected bool, got str" in found.error


def test_a_strange_status_does_not_spoil_a_good_spec() -> None:
    whole = decoded({**cluster(), "status": {"state": "ready", "endpoints": "none", "conditions": [{"type": 1}]}})
    assert (whole.status.state, whole.status.endpoints, whole.status.conditions) == ("ready", {}, ())
    assert whole.spec.worker_group_specs[0].group_name == "small"


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"null", b"3", b"[" * 100_000])
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    assert isinstance(decode_cluster(raw), Undecodable)


def test_other_kinds_name_paths_too() -> None:
    document = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "a"}, "spec": {"rayClusterSpec": {"suspend": 1}}}
    found = decode(encoded(document), RayJob)
    assert isinstance(found, Undecodable) and found.error == "spec.rayClusterSpec.suspend: expected bool, got int"


def test_a_template_is_read_past_its_nulls_and_unknown_fields() -> None:
    raw = msgspec.Raw(encoded({"spec": {"containers": [{"name": "ray", "env": None, "fieldOfTomorrow": 1}], "volumes": None}}))
    template, wrong = read_template(raw, "here")
    assert (template.ray.name, template.ray.env, template.spec.volumes, wrong) == ("ray", (), (), ())


def test_a_misshapen_template_names_its_place() -> None:
    raw = msgspec.Raw(encoded({"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{"name": "ray", "env": [{"name": 2}]}]}}))
    assert list(map(str, read_template(raw, "spec.headGroupSpec.template").faults)) == [
        "spec.headGroupSpec.template.metadata.labels.a: expected str, got int",
        "spec.headGroupSpec.template.spec.containers[0].env[0].name: expected str, got int",
    ]


@pytest.mark.parametrize(("case", "document"), recorded_objects("RayCluster"))
def test_recorded_inputs_lose_nothing(case: str, document: dict[str, Any]) -> None:
    if case == "raycluster-invalid-replicas-string":
        assert faults(document) == ["spec.workerGroupSpecs[0].replicas: expected int, got str"]
        return
    again = msgspec.json.decode(msgspec.json.encode(decoded(document)))
    assert carries(document["spec"], again["spec"]) == []


def carries(given: Any, found: Any, path: str = "spec") -> list[str]:
    """Paths at which what was given is not there any more; a default may be left out."""
    if isinstance(given, dict):
        return [fault for name, part in given.items() for fault in missing(name, part, found, path)]
    if isinstance(given, list):
        return [fault for index, part in enumerate(given) for fault in carries(part, found[index], f"{path}[{index}]")]
    return [] if given == found else [f"{path}: {given} became {found}"]


def missing(name: str, part: Any, found: Any, path: str) -> list[str]:
    defaults = {"replicas": 0, "minReplicas": 0, "maxReplicas": MAX_INT32, "numOfHosts": 1, "priority": 0, "mode": "DenyAll"}
    if name in found:
        return carries(part, found[name], f"{path}.{name}")
    return [] if part in (None, {}, [], "", defaults.get(name)) else [f"{path}.{name}: is gone"]
