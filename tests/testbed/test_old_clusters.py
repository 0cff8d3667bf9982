"""RayClusters of `cluster.ray.io` on a real API server: the definition is taken, and the rights of deploy/old-clusters.yaml suffice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.generate import manifests
from rayfleet.api.legacy.definition import old_crd
from rayfleet.cli.rights import OLD_CLUSTERS, WORK
from testbed.audit import Asked
from testbed.control_plane import ControlPlane
from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place
from tests.testbed.test_rights import grant, granted, used

pytestmark = pytest.mark.testbed
ROOT = Path(__file__).parents[2]
OLD, TODAY = "cluster.ray.io/v1/rayclusters", "ray.io/v1/rayclusters"


@pytest.fixture
def defined(plane: ControlPlane) -> Iterator[None]:
    plane.kubectl("apply", "--filename", "-", text=json.dumps(old_crd()))
    name = old_crd()["metadata"]["name"]
    plane.kubectl("wait", "--for=condition=Established", "customresourcedefinition", name)
    yield
    plane.kubectl("delete", "customresourcedefinition", name)


def test_an_old_cluster_is_adopted_with_just_these_rights(operators: Operators, place: Place, defined: None) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "heir", "--namespace", place.name)
    grant(place, "heir", [right.rule for right in (*WORK, *OLD_CLUSTERS)])
    kubeconfig = plane.service_account(place.name, "heir")
    operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig)
    body = yaml.safe_load((ROOT / "examples" / "legacy" / "resource.yaml").read_text())
    place.create(OLD, body)

    def read(resource: str, name: str) -> dict[str, Any] | None:
        code, found = plane.request("GET", place.path(resource, name))
        return found if code == 200 else None

    made = eventually(lambda: read(TODAY, "old"), 90.0, "the cluster of today is made")
    assert made["metadata"]["ownerReferences"][0]["kind"] == "RayCluster" and made["spec"]["workerGroupSpecs"][0]["maxReplicas"] == 3
    eventually(lambda: read("services", "old-ray-head"), 90.0, "the head's old Service is there")
    eventually(lambda: "finalizers" not in (read(OLD, "old") or body)["metadata"], 30.0, "the other operator's finalizer is gone")
    found = read(OLD, "old") or {}
    assert found["spec"]["podTypes"][0]["podConfig"] == body["spec"]["podTypes"][0]["podConfig"]
    plane.request("PATCH", place.path(OLD, "old"), {"spec": {"podTypes": []}}, kind="application/merge-patch+json")
    eventually(lambda: (read(OLD, "old") or {}).get("status", {}).get("phase") == "Error", 30.0, "it says that it cannot be converted")

    def asked() -> list[Asked]:
        return [request for request in operators.asked() if request.namespace == place.name]

    # the API server notes a request a moment after it has answered
    spared = {("update", "cluster.ray.io/rayclusters/finalizers")}
    eventually(lambda: granted(OLD_CLUSTERS) - used(asked()) == spared, 10.0, "every right but one is used")
    refused = [request for request in asked() if request.code in (401, 403)]
    assert [str(request) for request in refused if "cannot find RESTMapping" not in request.message] == [], "half a minute old, it is known"


@pytest.mark.parametrize("name", ["old-clusters.yaml", "old-clusters-namespaced.yaml"])
def test_the_manifest_is_what_its_source_says(name: str) -> None:
    assert (ROOT / "deploy" / name).read_text() == manifests()[name], "write it anew: python -m deploy.generate"
