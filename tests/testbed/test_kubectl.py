"""What users do, with nothing but kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.api.crds import crds
from rayfleet.cli.output import dump_yaml
from testbed.control_plane import ControlPlane
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
EXAMPLE = Path(__file__).parents[2] / "examples" / "two-clusters.yaml"


def test_a_cluster_from_apply_to_delete(operators: Operators, place: Place) -> None:
    operators.start()

    def kubectl(*words: str, text: str = "") -> str:
        return place.plane.kubectl("--namespace", place.name, *words, text=text)

    assert kubectl("apply", "-f", str(EXAMPLE)) == "raycluster.ray.io/one created\nraycluster.ray.io/two created\n"
    kubectl("wait", "--for=condition=RayClusterProvisioned", "raycluster/one", "raycluster/two", "--timeout=300s")
    kubectl("wait", "--for=jsonpath={.status.state}=ready", "raycluster/one", "--timeout=300s")
    header, one, two = kubectl("get", "rayclusters").splitlines()
    assert header.split()[:4] == ["NAME", "DESIRED", "WORKERS", "AVAILABLE"]
    assert (one.split()[:3], two.split()[:3]) == (["one", "2", "2"], ["two", "1", "1"])
    described = kubectl("describe", "raycluster", "one")
    assert "RayClusterProvisioned" in described
    assert "Created 2 worker Pods of group small" in described, "events stand below the object"
    before, written = generations(place), len(operators.writes(place.name))
    kubectl("apply", "-f", str(EXAMPLE))  # it says "configured": defaults stand in lists, which merge patches replace whole
    assert generations(place) == before == {"one": 1, "two": 1}
    scaled = EXAMPLE.read_text().replace("replicas: 2", "replicas: 3", 1)
    kubectl("apply", "-f", "-", text=scaled)
    kubectl("wait", "--for=jsonpath={.status.readyWorkerReplicas}=3", "raycluster/one", "--timeout=300s")
    assert generations(place) == {"one": 2, "two": 1}
    made = [request for request in operators.writes(place.name)[written:] if request.resource == "pods"]
    assert [request.verb for request in made] == ["create"], "one more worker, and nothing for what did not change"
    pods = kubectl("get", "pods", "--selector", "ray.io/cluster=one", "-o", "name").split()
    assert len(pods) == 4
    kubectl("delete", "-f", str(EXAMPLE), "--wait=true", "--timeout=300s")
    kubectl("wait", "--for=delete", "pods", "--selector", "ray.io/cluster", "--timeout=300s")


def generations(place: Place) -> dict[str, int]:
    return {each["metadata"]["name"]: each["metadata"]["generation"] for each in place.list("ray.io/v1/rayclusters")}


def test_a_spec_that_makes_no_sense_is_refused_with_the_fields_name(place: Place) -> None:
    wrong = EXAMPLE.read_text().replace("replicas: 2", "replicas: many", 1)
    refused = place.plane.try_kubectl("--namespace", place.name, "apply", "-f", "-", text=wrong)
    assert refused.returncode == 1
    assert "spec.workerGroupSpecs[0].replicas" in refused.stderr
    typo = EXAMPLE.read_text().replace("maxReplicas", "maxReplicaz", 1)
    refused = place.plane.try_kubectl("--namespace", place.name, "apply", "-f", "-", text=typo)
    assert 'unknown field "spec.workerGroupSpecs[0].maxReplicaz"' in refused.stderr


def test_what_rayfleet_crds_prints_is_applied_client_side_and_explained(plane: ControlPlane) -> None:
    printed = "---\n".join(dump_yaml(crd) for crd in crds())
    applied = plane.kubectl("apply", "-f", "-", text=printed)
    assert len(applied.splitlines()) == 4
    assert all(line.startswith("customresourcedefinition.apiextensions.k8s.io/ray") for line in applied.splitlines())
    for crd in crds():
        found = plane.kubectl("explain", crd["metadata"]["name"].partition(".")[0])
        assert f"KIND:       {crd['spec']['names']['kind']}" in found
    conditions = "{.items[*].status.conditions[?(@.type=='NonStructuralSchema')].message}"
    assert plane.kubectl("get", "crds", "-o", f"jsonpath={conditions}") == ""
