"""deploy/policies on a real API server: what is refused, in which words, and what still passes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.generate import policies
from rayfleet.api.policies import SpecPolicy
from rayfleet.sim.ideal import refusals as operator_refuses
from testbed.control_plane import ControlPlane
from tests.api.cases import GOOD
from tests.api.policy import CRON_JOBS, JOBS, SERVICES, refusals
from tests.api.test_policies import RIGHT, WRONG, as_kind
from tests.api.test_validation import ALL_GATES
from tests.local.waiting import eventually
from tests.testbed.place import Place, cluster
from tests.testbed.planes import NewControlPlane

pytestmark = pytest.mark.testbed
DEPLOY, EXAMPLES = (Path(__file__).parents[2] / name for name in ("deploy", "examples"))
CLUSTERS = "ray.io/v1/rayclusters"
BAD_NAME = "a" * 54
NUMBERS = count()  # of namespaces: the last one may still be going


@pytest.mark.parametrize("name", sorted(policies()))
def test_the_manifest_is_what_its_source_says(name: str) -> None:
    assert (DEPLOY / name).read_text() == policies()[name], "write it anew: python -m deploy.generate"


@pytest.fixture(scope="module")
def guarded(new_control_plane: NewControlPlane) -> ControlPlane:
    """A control plane of its own, as policies bind the whole cluster; the users may do what a test gives them."""
    made = new_control_plane(users=("ann", "bob", "queue"))
    made.kubectl("apply", "--filename", str(DEPLOY / "rayfleet.yaml"), "--filename", str(DEPLOY / "old-clusters.yaml"))
    made.kubectl("wait", "--for=condition=Established", "--all", "customresourcedefinitions")
    return made


@pytest.fixture
def place(guarded: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Place]:
    """With the policies of the test's mark in force; before them a cluster `old` with a name that is fine and a bad size is stored."""
    made = Place(guarded, f"guarded-{request.param}-{next(NUMBERS)}").make()
    old = cluster("old", 1)
    old["spec"]["workerGroupSpecs"][0] |= {"minReplicas": 5, "maxReplicas": 2}
    eventually(lambda: guarded.request("POST", made.path(CLUSTERS), old)[0] == 201, 30.0, "the last test's policy is forgotten")
    guarded.kubectl("apply", "--filename", str(DEPLOY / "policies" / f"{request.param}.yaml"))
    yield made
    guarded.kubectl("delete", "--filename", str(DEPLOY / "policies" / f"{request.param}.yaml"))
    made.remove()


def try_to_make(place: Place, body: dict[str, Any]) -> tuple[int, str]:
    code, answer = place.plane.request("POST", place.path(CLUSTERS) + "?dryRun=All", body)
    return code, answer.get("message", "")


def in_force(place: Place, body: dict[str, Any]) -> str:
    """The words with which a body is refused, once the policy is in force."""
    eventually(lambda: try_to_make(place, body)[0] >= 400, 30.0, "the policy is in force")
    return try_to_make(place, body)[1]


@pytest.mark.parametrize("place", ["spec"], indirect=True)
def test_a_wrong_spec_is_refused_by_the_api_server_itself(place: Place) -> None:
    assert "metadata.name: at most 53 characters are allowed" in in_force(place, cluster(BAD_NAME, 1))
    assert warnings(place.plane, "rayclusters.rayfleet.dev") == []
    for document in GOOD.values():
        body = copy.deepcopy(document)
        body["metadata"] |= {"namespace": place.name}
        assert try_to_make(place, body) == (201, ""), body
    twice = cluster("demo", 1)
    twice["spec"]["workerGroupSpecs"] *= 2
    assert "a name of its own" in try_to_make(place, twice)[1]
    for spec, told in (({"minReplicas": 3, "maxReplicas": 1}, "between 0 and maxReplicas"), ({"numOfHosts": 0}, "at least one host")):
        wrong = cluster("demo", 1)
        wrong["spec"]["workerGroupSpecs"][0] |= spec
        code, message = try_to_make(place, wrong)
        assert code == 422 and told in message
    empty = cluster("demo", 1)
    empty["spec"]["headGroupSpec"]["template"] = {}
    assert "at least one container" in try_to_make(place, empty)[1]

    # What was stored before may still be labelled, finished and deleted; it is judged when its spec changes.
    path, merge = place.path(CLUSTERS, "old"), "application/merge-patch+json"
    assert place.plane.request("PATCH", path, {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/x"]}}, kind=merge)[0] == 200
    assert place.plane.request("PATCH", path + "/status", {"status": {"state": "ready"}}, kind=merge)[0] == 200
    code, answer = place.plane.request("PATCH", path, {"spec": {"rayVersion": "2.61.0"}}, kind=merge)
    assert code == 422 and "between 0 and maxReplicas" in answer["message"]
    place.plane.request("DELETE", path)
    assert place.plane.request("PATCH", path, {"metadata": {"finalizers": None}}, kind=merge)[0] == 200
    eventually(lambda: place.plane.answers(path) == 404, 10.0)


@pytest.mark.parametrize("place", ["spec"], indirect=True)
@pytest.mark.parametrize("policy", [SERVICES, JOBS, CRON_JOBS], ids=lambda policy: policy.resource.kind)
def test_of_every_kind_what_is_wrong_is_refused_and_what_is_good_is_not(place: Place, policy: SpecPolicy) -> None:
    path = f"{place.path(f'ray.io/v1/{policy.resource.plural}')}?dryRun=All"

    def attempt(document: dict[str, Any]) -> tuple[int, str]:
        metadata = {**document["metadata"], "namespace": place.name}
        code, answer = place.plane.request("POST", path, {**as_kind(policy, document), "metadata": metadata})
        return code, answer.get("message", "")

    wrong = [document for document in WRONG[policy] if refusals(document, policy)]
    eventually(lambda: all(attempt(document)[0] in (400, 422) for document in wrong), 30.0, "all that is wrong is refused")
    assert any(f"ValidatingAdmissionPolicy '{policy.name}'" in attempt(document)[1] for document in wrong)
    assert warnings(place.plane, policy.name) == []
    for document in RIGHT[policy]:
        if not operator_refuses(as_kind(policy, document), ALL_GATES, 0.0):
            assert attempt(document) == (201, ""), document


@pytest.mark.parametrize("place", ["rights"], indirect=True)
def test_nobody_makes_by_way_of_a_cluster_what_they_could_not_make_themselves(place: Place) -> None:
    everything = ["get", "list", "create", "update", "patch", "delete"]
    old_kind = ("cluster.ray.io", ["rayclusters"], everything)
    grant(place, "ray", ["ann", "bob", "queue"], ("ray.io", ["rayclusters", "rayjobs"], everything), old_kind)
    grant(place, "pods", ["bob"], ("", ["pods", "services"], ["create"]))

    def make(user: str, body: dict[str, Any]) -> str:
        words = ("create", "--namespace", place.name, "--dry-run=server", "--filename", "-")
        done = place.plane.try_kubectl(*words, text=json.dumps(body), user=user)
        return done.stderr if done.returncode else ""

    eventually(lambda: "you may not create Pods" in make("ann", cluster("demo", 1)), 30.0, "the policy is in force")
    assert warnings(place.plane, "rights.rayfleet.dev") == []
    assert make("bob", cluster("demo", 1)) == ""
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"}, "spec": {"rayClusterSpec": cluster("x", 1)["spec"]}}
    assert "you may not create Pods" in make("ann", job) and make("bob", job) == ""
    old = yaml.safe_load((EXAMPLES / "legacy" / "resource.yaml").read_text())
    assert "you may not create Pods" in make("ann", old) and make("bob", old) == ""
    open_to_all = cluster("demo", 1)
    open_to_all["spec"]["headGroupSpec"]["enableIngress"] = True
    assert "you may not create Ingresses" in make("bob", open_to_all)

    def patch(user: str, *operations: dict[str, Any]) -> str:
        words = ("patch", "rayclusters.ray.io", "old", "--namespace", place.name, "--type", "json", "--patch", json.dumps(operations))
        done = place.plane.try_kubectl(*words, user=user)
        return done.stderr if done.returncode else ""

    group = "/spec/workerGroupSpecs/0"
    assert patch("ann", {"op": "replace", "path": f"{group}/replicas", "value": 2}) == ""
    assert patch("ann", {"op": "add", "path": f"{group}/scaleStrategy", "value": {"workersToDelete": ["x"]}}) == ""
    assert patch("ann", {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}) == ""
    for operation in (
        {"op": "replace", "path": f"{group}/maxReplicas", "value": 3},
        {"op": "replace", "path": f"{group}/template/spec/containers/0/image", "value": "other"},
        {"op": "add", "path": "/spec/suspend", "value": True},
        {"op": "add", "path": f"{group}/template/spec/serviceAccountName", "value": "stronger"},
    ):
        assert "you may not create Pods" in patch("ann", operation)
    grant(place, "vouching", ["queue"], ("ray.io", ["rayclusters"], ["vouch"]))
    eventually(lambda: patch("queue", {"op": "add", "path": "/spec/suspend", "value": True}) == "", 10.0, "queue may vouch")


def warnings(plane: ControlPlane, policy: str) -> list[str]:
    """What the API server finds wrong with the types in a policy's expressions."""

    def status() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(plane.kubectl("get", "validatingadmissionpolicy", policy, "-o", "json")).get("status", {})
        return found if "observedGeneration" in found else {}

    checked = eventually(status, 30.0, "the policy's types are checked")
    return [each["warning"] for each in checked.get("typeChecking", {}).get("expressionWarnings", [])]


def grant(place: Place, name: str, users: list[str], *rights: tuple[str, list[str], list[str]]) -> None:
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in rights]
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user} for user in users]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    place.create("rbac.authorization.k8s.io/v1/roles", {"metadata": {"name": name}, "rules": rules})
    place.create("rbac.authorization.k8s.io/v1/rolebindings", {"metadata": {"name": name}, "subjects": subjects, "roleRef": reference})
