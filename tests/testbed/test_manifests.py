"""What `deploy/` ships: written from one source, within the pod security standard, and accepted by a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deploy.generate import manifests
from deploy.objects import NAME, SYSTEM_NAMESPACE, deployment
from testbed.control_plane import ControlPlane
from tests.local.waiting import eventually
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
DEPLOY = Path(__file__).parents[2] / "deploy"
CLIENT_SIDE_LIMIT = 262_144  # bytes of all annotations; kubectl apply keeps the object in one


@pytest.mark.parametrize("name", sorted(manifests()))
def test_the_manifest_is_what_its_source_says(name: str) -> None:
    assert (DEPLOY / name).read_text() == manifests()[name], "write it anew: python -m deploy.generate"


@pytest.mark.parametrize("name", sorted(manifests()))
def test_nothing_in_it_is_granted_by_a_wildcard_or_on_what_gives_power_over_others(name: str) -> None:
    roles = [each for each in yaml.safe_load_all((DEPLOY / name).read_text()) if each["kind"] in ("Role", "ClusterRole")]
    assert roles
    for rule in (rule for role in roles for rule in role["rules"]):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert not {"pods/exec", "nodes", "clusterroles", "clusterrolebindings"} & set(rule["resources"])
        assert "secrets" not in rule["resources"] or "update" not in rule["verbs"]  # what they are for: docs/security.md
        assert not {"impersonate", "bind", "escalate", "deletecollection"} & set(rule["verbs"])


def test_the_manifest_for_one_namespace_grants_nothing_cluster_wide_and_can_be_had_for_any_name() -> None:
    command = [sys.executable, "-m", "deploy.generate", "team-a"]
    printed = subprocess.run(command, cwd=DEPLOY.parent, capture_output=True, text=True, check=True).stdout
    found = list(yaml.safe_load_all(printed))
    assert {each["kind"] for each in found if "namespace" not in each["metadata"]} == {"CustomResourceDefinition", "Namespace"}
    assert {each["metadata"].get("namespace", "team-a") for each in found} == {"team-a"}
    (operator,) = (each for each in found if each["kind"] == "Deployment")
    assert operator["spec"]["template"]["spec"]["containers"][0]["args"][-2:] == ["--watch-namespace", "team-a"]


def test_kubectl_applies_it_client_side_twice_and_its_pod_is_admitted_as_restricted(plane: ControlPlane) -> None:
    again = plane.kubectl("apply", "--filename", str(DEPLOY / "rayfleet.yaml"))
    assert {line.rsplit(" ", 1)[1] for line in again.splitlines()} == {"unchanged"}
    plane.kubectl("wait", "--for=condition=Available", "--namespace", SYSTEM_NAMESPACE, f"deployment/{NAME}", "--timeout=300s")
    kept = json.loads(plane.kubectl("get", "customresourcedefinitions", "-o", "json"))["items"]
    assert len(kept) == 4
    for each in kept:
        assert sum(len(name) + len(value) for name, value in each["metadata"]["annotations"].items()) < CLIENT_SIDE_LIMIT / 2


def test_a_looser_pod_would_not_be_admitted(place: Place) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    place.plane.request("PATCH", f"/api/v1/namespaces/{place.name}", label, kind="application/merge-patch+json")
    pod = {"metadata": {"name": "strict"}, "spec": deployment(place.name, [])["spec"]["template"]["spec"]}
    del pod["spec"]["serviceAccountName"]
    place.create("pods", pod)
    pod["metadata"]["name"] = "loose"
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    code, answer = place.plane.request("POST", place.path("pods"), pod)
    assert code == 403
    assert "unrestricted capabilities" in answer["message"]


def test_the_manifest_for_one_namespace_is_applied_as_well(plane: ControlPlane) -> None:
    plane.kubectl("apply", "--filename", str(DEPLOY / "rayfleet-namespaced.yaml"))
    ready = "{.status.readyReplicas}"
    eventually(lambda: plane.kubectl("get", "--namespace", "rayfleet", "deployment/rayfleet", "-o", f"jsonpath={ready}") == "1", 30.0)
    plane.kubectl("delete", "namespace", "rayfleet", "--wait=false")
